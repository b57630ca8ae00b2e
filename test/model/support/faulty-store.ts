import type { LockStore } from '../../../lib/index.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import { leaseDeadline } from '../../../lib/lock/lease.js';
import type { ManualClock } from '../../../lib/testing/index.js';
import { LocksOnly } from '../../support/locks-only.js';

/** What happens to a call on its way. `ms` is how late the request or the reply is. */
export type Fault =
  | { readonly kind: 'not-connected' | 'request-lost' | 'reply-lost' | 'no-request' | 'no-reply' }
  | { readonly kind: 'late-request' | 'late-reply'; readonly ms: number };

/** One instance's way to the store: it goes wrong as told, and knows what the instance has been promised. */
export class FaultyStore extends LocksOnly implements LockStore {
  /** One for each of the next calls; the ones after go well. */
  readonly faults: Fault[] = [];
  /** Per fencing token, until when its holder may believe in its lease: only answers that arrived count. */
  readonly deadlines = new Map<number, number>();
  readonly #listeners = new Set<() => void>();

  constructor(
    private readonly clock: ManualClock,
    private readonly target: () => LockStore,
  ) {
    super();
  }

  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const sent = this.clock.monotonic();
    const result = await this.#send(() => this.target().acquire(request));
    if (result.acquired) this.#confirm(result.fencingToken, sent, request.ttl);
    return result;
  }

  async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    const sent = this.clock.monotonic();
    const results = await this.#send(() => this.target().extend(leases));
    for (const [i, { fencingToken, ttl }] of leases.entries())
      if (results[i]?.held) this.#confirm(fencingToken, sent, ttl);
    return results;
  }

  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    return this.#send(() => this.target().release(lease, options));
  }

  onAvailable(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The connection is back. */
  announce(): void {
    for (const listener of this.#listeners) listener();
  }

  get listening(): number {
    return this.#listeners.size;
  }

  #confirm(fencingToken: number, sent: number, ttl: number): void {
    const before = this.deadlines.get(fencingToken) ?? -Infinity;
    this.deadlines.set(fencingToken, Math.max(before, leaseDeadline(sent, ttl)));
  }

  async #send<T>(carryOut: () => Promise<T>): Promise<T> {
    const fault = this.faults.shift();
    switch (fault?.kind) {
      case undefined:
        return carryOut();
      case 'not-connected':
        throw new StoreUnavailableError('not connected', { outcome: 'not-applied' });
      case 'request-lost':
        throw new StoreUnavailableError('connection lost', { outcome: 'unknown' });
      case 'reply-lost':
        await carryOut();
        throw new StoreUnavailableError('connection lost', { outcome: 'unknown' });
      case 'no-request':
        return new Promise(() => undefined);
      case 'no-reply':
        await carryOut();
        return new Promise(() => undefined);
      case 'late-request':
        await this.#pass(fault.ms);
        return carryOut();
      case 'late-reply': {
        const result = await carryOut();
        await this.#pass(fault.ms);
        return result;
      }
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(resolve, ms));
  }
}
