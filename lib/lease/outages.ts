import type { Clock } from '../clock.js';
import { LockStateError, StoreUnavailableError } from '../errors.js';
import type { Emit } from './events.js';

/** A kind of call to the store; `look`: an attempt that was refused, as others have the lock, and wrote nothing. */
type StoreCall = 'acquire' | 'look' | 'extend' | 'release';

/** A call that failed. */
interface FailedCall {
  readonly call: StoreCall;
  /** The locks that it was about. */
  readonly locks: readonly string[];
  /** Whether a run was skipped because of it. */
  readonly skipped?: boolean;
}

interface Outage {
  readonly since: number;
  skipped: number;
  /** When a call failed last. */
  failedAt: number;
  /** The kinds of calls that the store has refused: it answers others meanwhile. */
  readonly refused: Set<StoreCall>;
  /** The locks for which calls failed, where the others may be on another server. */
  readonly locks: Set<string>;
}

/** The key under which an outage of the store itself is kept; a lock's name is never empty. */
const STORE = '';

/**
 * How long no call may have failed until any answer ends an outage, ms: what failed may never be asked for again. Longer
 * than most jobs are apart, or one on a server that is away would begin an outage anew at each of its ticks.
 */
const QUIET = 600_000;

/** The most locks that are remembered to have failed: names can be made up per call. */
const MAX_LOCKS = 10_000;

/**
 * Turns failed and successful store calls into outages with a beginning and an end: one event each, however many
 * ticks fall into it. A broken entry of one lock is an outage of that lock alone.
 *
 * An outage is over with the first call that is answered. Two kinds of them go on while other calls are answered, and end with
 * one of what has failed: where the store has refused a kind of call, and where locks live on several servers. When nothing has
 * failed for ten minutes, any answer ends them too.
 */
export class Outages {
  readonly #outages = new Map<string, Outage>();

  /** @param partitioned whether locks live on several servers, by what the store says at that moment */
  constructor(
    private readonly instance: string,
    private readonly clock: Clock,
    private readonly emit: Emit,
    private readonly partitioned: () => boolean = () => false,
  ) {}

  /** The store could not be reached at start-up. */
  startFailed(error: Error): void {
    this.#begin(STORE, error, true);
  }

  /** A call failed. */
  failed(error: Error, { call, locks, skipped = false }: FailedCall): void {
    const isLocks = error instanceof LockStateError;
    const isRefusal = error instanceof StoreUnavailableError && error.refused;
    // A store that says what is wrong has answered.
    if (isLocks) this.#answered(STORE, call, error.lock);
    // And what is to be put right must not stay hidden behind an outage that began otherwise.
    if (isRefusal) this.#reached();
    const outage = this.#begin(isLocks ? error.lock : STORE, error, false);
    outage.failedAt = this.clock.monotonic();
    if (skipped) outage.skipped += 1;
    if (isLocks) return;
    if (isRefusal) outage.refused.add(call);
    if (!this.partitioned()) return;
    for (const lock of locks) if (outage.locks.size < MAX_LOCKS) outage.locks.add(lock);
  }

  /** A call for this lock was answered. */
  succeeded(call: StoreCall, lock: string): void {
    if (this.#outages.size === 0) return;
    this.#answered(STORE, call, lock);
    this.#answered(lock, call, lock);
  }

  #begin(key: string, error: Error, atStart: boolean): Outage {
    let outage = this.#outages.get(key);
    if (outage === undefined) {
      const since = this.clock.monotonic();
      outage = { since, failedAt: since, skipped: 0, refused: new Set(), locks: new Set() };
      this.#outages.set(key, outage);
      this.emit({ type: 'outage-started', ...this.#facts(key), error, atStart });
    }
    return outage;
  }

  #answered(key: string, call: StoreCall, lock: string): void {
    const outage = this.#outages.get(key);
    if (outage === undefined) return;
    const now = this.clock.monotonic();
    if (endsWith(outage, call, lock) || now - outage.failedAt >= QUIET) this.#end(key, outage);
  }

  /** Ends an outage in which the store could not be reached, as a whole. */
  #reached(): void {
    const outage = this.#outages.get(STORE);
    if (outage !== undefined && outage.refused.size === 0 && outage.locks.size === 0)
      this.#end(STORE, outage);
  }

  #end(key: string, outage: Outage): void {
    const now = this.clock.monotonic();
    this.#outages.delete(key);
    const duration = Math.round(now - outage.since);
    this.emit({ type: 'outage-ended', ...this.#facts(key), duration, skipped: outage.skipped });
  }

  #facts(key: string) {
    const facts = { instance: this.instance, at: this.clock.now() };
    return key === STORE ? facts : { ...facts, lock: key };
  }
}

/** Whether an outage is over because this call was answered. */
function endsWith({ refused, locks }: Outage, call: StoreCall, lock: string): boolean {
  return (refused.size === 0 || refused.has(call)) && (locks.size === 0 || locks.has(lock));
}
