import { randomUUID as uuid } from 'node:crypto';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  LockStore,
} from '../../../lib/contract/lock-store.js';
import type { NewPause, Pause } from '../../../lib/contract/pause.js';
import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { ContractSubject, LockStoreContractOptions } from './options.js';

/** A ttl that no pause of a test machine outlasts: for leases that must still be held. */
export const HOUR = 3_600_000;
/** The longest duration that a store must keep. */
export const MONTH = 30 * 24 * HOUR;
/** A ttl that is soon over: for leases that must expire. */
export const SHORT = 30;
/** How long a case waits for an expiry, on the store's clock, before it fails, ms. */
const PATIENCE = 30_000;
const LOOK_AGAIN = 20;

/** The tools of a case: the store under test, and the usual moves. */
export class Kit {
  readonly store: LockStore;
  readonly #stores: readonly LockStore[];
  readonly #options: LockStoreContractOptions;
  readonly #run = uuid().slice(0, 8);

  constructor(subject: ContractSubject, options: LockStoreContractOptions) {
    this.store = subject.store;
    this.#stores = [subject.store, ...(subject.others ?? [])];
    this.#options = options;
  }

  get isFar(): boolean {
    return this.#options.far === true;
  }

  /** A name that no other run of the suite uses. */
  name(label = 'lock'): string {
    return `contract-${this.#run}-${label}`;
  }

  /** An attempt with a token of its own. Frozen: a store must not change its arguments. */
  request(name: string, fields: Partial<AcquireRequest> = {}): AcquireRequest {
    return Object.freeze({
      name,
      token: uuid(),
      ttl: HOUR,
      holder: `host:1:${uuid().slice(0, 8)}`,
      ...fields,
    });
  }

  /** A lease that the store never granted. */
  stranger(name: string, fields: Partial<LeaseRef> = {}): LeaseRef {
    return Object.freeze({ ...this.request(name), fencingToken: 1, ...fields });
  }

  /** Takes a lock that must be free. */
  async take(name: string, fields: Partial<AcquireRequest> = {}, what = 'acquire'): Promise<LeaseRef> {
    const request = this.request(name, fields);
    const result = await this.store.acquire(request);
    answers(result, { acquired: true }, `${what} of a free lock`);
    return granted(request, result);
  }

  /** Many attempts at once, by as many instances as there are stores. */
  storm(requests: readonly AcquireRequest[]): Promise<AcquireResult[]> {
    return this.atOnce(requests, (store, request) => store.acquire(request));
  }

  /** Many calls at once, by as many instances as there are stores. */
  atOnce<A, T>(each: readonly A[], call: (store: LockStore, one: A) => Promise<T>): Promise<T[]> {
    return Promise.all(each.map((one, i) => call(this.#stores[i % this.#stores.length] ?? this.store, one)));
  }

  /** Another holder tries, and must be refused. */
  async refusal(name: string, what: string, fields: Partial<AcquireRequest> = {}): Promise<AcquireRefusal> {
    const result = await this.store.acquire(this.request(name, fields));
    if (!result.acquired) return result;
    throw new Error(`${what}: the lock should be taken, but an attempt was granted (${show(result)})`);
  }

  /** This very lease must hold the lock, with at most `expiresIn`, and more than half of that, left. */
  async stillHeld(lease: LeaseRef, what: string, expiresIn = lease.ttl): Promise<void> {
    const refusal = await this.refusal(lease.name, what);
    answers(refusal, { reason: 'held', holder: lease.holder }, `${what}: an attempt`);
    checkExpiry(refusal, expiresIn, what);
  }

  /** The lock must be free: another holder takes it, and releases it, so that it stays free. */
  async free(name: string, what: string): Promise<void> {
    const request = this.request(name);
    const result = await this.store.acquire(request);
    check(result.acquired, () => `${what}: the lock should be free, but an attempt got ${show(result)}`);
    await this.store.release({ ...request, fencingToken: result.fencingToken });
  }

  /**
   * Lets time pass until the lock is free, then takes it, or answers with the winners of several attempts at once.
   * Tries again and again: on a busy machine, nobody knows how long a wait really lasts.
   */
  async takeExpired(name: string, what: string, attempts = 1): Promise<LeaseRef[]> {
    for (let waited = 0; waited < PATIENCE; waited += LOOK_AGAIN) {
      await this.wait(LOOK_AGAIN);
      const requests = Array.from({ length: attempts }, () => this.request(name));
      const results = await this.storm(requests);
      const winners = requests.flatMap((request, i) => {
        const result = results[i];
        return result?.acquired ? [granted(request, result)] : [];
      });
      if (winners.length > 0) return winners;
    }
    throw new Error(`${what}: the lock should be free by now, but every attempt was refused`);
  }

  /**
   * Two leases of one token: the first one is over, the second one lives. The first one was renewed once: a store may know it from then
   * on.
   */
  async twoOfOneToken(name: string): Promise<readonly [older: LeaseRef, newer: LeaseRef]> {
    const older = await this.take(name, { ttl: SHORT });
    const { fencingToken: first, ...request } = older;
    await this.extend(older);
    let newer = older;
    await this.until('the token of a lease that is over should be granted another one', async () => {
      const again = { ...request, ttl: HOUR };
      newer = granted(again, await this.store.acquire(again));
      return newer.fencingToken > first;
    });
    return [older, newer];
  }

  /** Lets time pass until `isSo`. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    for (let waited = 0; waited < PATIENCE; waited += LOOK_AGAIN) {
      await this.wait(LOOK_AGAIN);
      if (await isSo()) return;
    }
    throw new Error(`${what} by now`);
  }

  async extend(lease: LeaseRef): Promise<ExtendResult> {
    const results = await this.store.extend([lease]);
    const [result] = results;
    check(
      result !== undefined && results.length === 1,
      () => `extend of one lease answered ${show(results)}`,
    );
    return result;
  }

  async pause(name: string, pause: NewPause): Promise<Pause> {
    const made = await this.store.pause?.(name, pause);
    check(made !== undefined, 'the store should pause a lock');
    return made;
  }

  async resume(name: string, pause: Pick<Pause, 'id'>): Promise<boolean> {
    return (await this.store.resume?.(name, pause)) ?? false;
  }

  wait(ms: number): Promise<void> {
    return this.#options.wait(ms);
  }

  async forget(name: string): Promise<void> {
    await this.#options.forget?.(name, this.store);
  }

  async forgetState(name: string): Promise<void> {
    await this.#options.forgetState?.(name, this.store);
  }

  async forgetAll(): Promise<void> {
    await this.#options.forgetAll?.(this.store);
  }

  async tidy(): Promise<void> {
    await this.#options.tidy?.(this.store);
  }

  async breakLock(name: string): Promise<void> {
    await this.#options.breakLock?.(name, this.store);
  }

  async setClockBack(name: string, ms: number): Promise<void> {
    await this.#options.setClockBack?.(name, ms, this.store);
  }

  async skewInstanceClock(ms: number): Promise<void> {
    await this.#options.skewInstanceClock?.(ms);
  }
}

/** The remaining time must be at most `most`, and more than half of it: only hours of delay could break that. */
export function checkExpiry({ expiresIn }: AcquireRefusal, most: number, what: string): void {
  check(
    expiresIn !== undefined && expiresIn > most / 2 && expiresIn <= most,
    () => `${what}: expiresIn should be within (${most / 2}, ${most}] ms, but is ${String(expiresIn)}`,
  );
}

function granted(request: AcquireRequest, result: AcquireResult): LeaseRef {
  return Object.freeze({ ...request, fencingToken: result.acquired ? result.fencingToken : 0 });
}
