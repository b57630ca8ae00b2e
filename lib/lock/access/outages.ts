import type { Clock } from '../../base/clock.js';
import { LockStateError, SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import type { Emit } from '../../contract/events/events.js';

/** A kind of call to the store. `look` is an attempt that the store refused, so it wrote nothing. */
type StoreCall = 'acquire' | 'look' | 'extend' | 'release' | 'enqueue' | 'next';
/** An answer to a call. `write`: to any but a refused attempt. */
type Answer = StoreCall | 'write';

interface Outage {
  readonly since: number;
  skipped: number;
  failedAt: number;
  /** The answers that show that this is over; empty: any. The store may answer other calls meanwhile. */
  readonly endedBy: Set<Answer>;
  /** The locks whose calls failed, if the store is partitioned: other locks may be on another server. */
  readonly locks: Set<string>;
}

/** The key of an outage of the store itself. The name of a lock is never empty. */
const STORE = '';

/**
 * When no call has failed for this time, any answer ends an outage, ms: the call that failed may never be repeated. Longer than the pause
 * between ticks of most jobs: else a job on a server that is away would start a new outage at each tick.
 */
const QUIET = 600_000;

/** How many failed locks are remembered at most: a caller can make up a name per call. */
const MAX_LOCKS = 10_000;

/**
 * Turns failed and successful store calls into outages with a beginning and an end: one event each, however many ticks fall
 * into it. A broken entry of one lock is an outage of that lock alone.
 *
 * An outage ends with the first call that is answered in time, except where such an answer says nothing of what has failed: a kind of call
 * that the store refuses, an entry that could not be written, a lock on another server. After ten minutes without a failure, any answer ends it.
 */
export class Outages {
  /** When the last call was answered, epoch milliseconds; `undefined`: none was. */
  answeredAt: number | undefined;
  readonly #outages = new Map<string, Outage>();

  /** @param partitioned whether locks live on several servers, as the store says at that moment */
  constructor(
    private readonly instance: string,
    private readonly clock: Clock,
    private readonly emit: Emit,
    private readonly partitioned: () => boolean = () => false,
  ) {}

  get isAway(): boolean {
    return this.#outages.has(STORE);
  }

  /** The store could not be reached at start-up. */
  startFailed(error: Error): void {
    this.#begin(STORE, error, true);
  }

  /** @param skipped whether a run was skipped because of it */
  failed(error: Error, call: StoreCall, locks: readonly string[], skipped = false): void {
    // A name that the store cannot keep says nothing about the store.
    if (error instanceof SchedulerLockConfigError) return;
    const isLocks = error instanceof LockStateError;
    const isRefusal = error instanceof StoreUnavailableError && error.refused;
    // A store that reports a broken entry has answered.
    if (isLocks) this.#answered(STORE, call, error.lock);
    // A refusal needs a repair, so an outage for another reason must not hide it.
    if (isRefusal && this.#outages.get(STORE)?.endedBy.size === 0) this.#answered(STORE);
    const outage = this.#begin(isLocks ? error.lock : STORE, error, false);
    outage.failedAt = this.clock.monotonic();
    if (skipped) outage.skipped += 1;
    if (isRefusal) outage.endedBy.add(call);
    // An attempt has only read its entry. What could not be written can be when anything of the lock is.
    if (isLocks && call !== 'acquire') outage.endedBy.add('write');
    if (isLocks || !this.partitioned()) return;
    for (const lock of locks) if (outage.locks.size < MAX_LOCKS) outage.locks.add(lock);
  }

  succeeded(call: StoreCall, lock: string): void {
    this.answeredAt = this.clock.now();
    if (this.#outages.size === 0) return;
    this.#answered(STORE, call, lock);
    this.#answered(lock, call === 'look' ? 'look' : 'write', lock);
  }

  /** The store has answered a call that was for no lock: it can be reached. What it has refused of late, it may refuse still. */
  heard(): void {
    this.answeredAt = this.clock.now();
    this.#answered(STORE);
  }

  #begin(key: string, error: Error, atStart: boolean): Outage {
    const going = this.#outages.get(key);
    if (going !== undefined) return going;
    const since = this.clock.monotonic();
    const outage: Outage = { since, failedAt: since, skipped: 0, endedBy: new Set(), locks: new Set() };
    this.#outages.set(key, outage);
    this.emit({ type: 'outage', phase: 'started', ...this.#facts(key), error, atStart });
    return outage;
  }

  /** An answer ends an outage if it is one to what has failed, and any answer does when no call has failed for some time. */
  #answered(key: string, answer?: Answer, lock?: string): void {
    const outage = this.#outages.get(key);
    if (outage === undefined) return;
    const { endedBy, locks, failedAt, since, skipped } = outage;
    const now = this.clock.monotonic();
    const isOfKind = endedBy.size === 0 || (answer !== undefined && endedBy.has(answer));
    const isOfLocks = locks.size === 0 || (lock !== undefined && locks.has(lock));
    if (!(isOfKind && isOfLocks) && now - failedAt < QUIET) return;
    this.#outages.delete(key);
    const duration = Math.round(now - since);
    this.emit({ type: 'outage', phase: 'ended', ...this.#facts(key), duration, skipped });
  }

  #facts(key: string) {
    const facts = { instance: this.instance, at: this.clock.now() };
    return key === STORE ? facts : { ...facts, lock: key };
  }
}
