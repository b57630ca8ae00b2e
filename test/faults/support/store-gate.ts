import type { LockInfo, LockStore } from '../../../lib/index.js';
import type { AcquireRequest, ReleaseOptions } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { LocksOnly } from '../../support/locks-only.js';

/** A store whose calls can be held back before they reach it, and are counted. */
export class StoreGate extends LocksOnly implements LockStore {
  /** Calls that have no answer yet, those that are held among them. */
  underWay = 0;
  #toHold = 0;
  readonly #held: (() => void)[] = [];

  constructor(private readonly store: LockStore) {
    super();
  }

  /** Calls that are held at the moment. */
  get held(): number {
    return this.#held.length;
  }

  /** Holds the next calls, all of them unless told how many, until {@link letGo}. */
  hold(calls = Infinity): void {
    this.#toHold = calls;
  }

  /** Sends what was held, in the order in which it came, and holds nothing more. */
  letGo(): void {
    this.#toHold = 0;
    for (const send of this.#held.splice(0)) send();
  }

  async init(): Promise<void> {
    await this.store.init?.();
  }

  acquire(request: AcquireRequest) {
    return this.#pass(() => this.store.acquire(request));
  }

  extend(leases: readonly LeaseRef[]) {
    return this.#pass(() => this.store.extend(leases));
  }

  release(lease: LeaseRef, options?: ReleaseOptions) {
    return this.#pass(() => this.store.release(lease, options));
  }

  override inspect(): Promise<LockInfo[]> {
    return this.store.inspect();
  }

  async #pass<T>(send: () => Promise<T>): Promise<T> {
    this.underWay += 1;
    try {
      if (this.#toHold > 0) {
        this.#toHold -= 1;
        await new Promise<void>((resolve) => this.#held.push(resolve));
      }
      return await send();
    } finally {
      this.underWay -= 1;
    }
  }
}
