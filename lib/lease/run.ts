import type { Clock } from '../clock.js';
import { LockTimeoutError } from '../errors.js';
import type { ReleaseOutcome, ReleaseResult } from '../stores/lock-store.js';
import type { Writable } from '../writable.js';
import type { Attempts, Taker } from './attempts.js';
import type { AcquiredEvent, Emit, Hears, ReleasedEvent } from './events.js';
import { Lease, ofRun } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import type { Releases } from './releases.js';

/** What runs of one application share. */
export interface Runs {
  readonly clock: Clock;
  readonly emit: Emit;
  readonly hears: Hears;
  readonly attempts: Attempts;
  readonly releases: Releases;
  /** Keeps a lease while its job runs. */
  keep(lease: Lease): void;
  /** Keeps it no longer. Tells whether the store is still to be told. */
  drop(lease: Lease): boolean;
  /** Tells who listens that a call was skipped. */
  skipped(call: LockCall, skipped: Skipped): void;
  /** The call is over. */
  end(call: LockCall): void;
}

/** How a job ended. */
type Ended<T> = { readonly value: T } | { readonly error: unknown };

/**
 * One call through a lock under way: take, run, give back, report.
 *
 * An object that is called back instead of an async function: each promise more is a part of each run's cost.
 */
export class Run<T> implements Taker {
  #lease: Lease | undefined;
  #ended: Ended<T> | undefined;
  #outcome: ReleaseOutcome = 'completed';
  #duration = 0;

  constructor(
    private readonly runs: Runs,
    private readonly call: LockCall,
    private readonly job: (lease: Lease) => T | PromiseLike<T>,
    private readonly resolve: (result: RunResult<T>) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  start(): void {
    this.runs.attempts.make(this.call, this);
  }

  taken(taken: Lease | Skipped): void {
    const { runs, call } = this;
    if (!(taken instanceof Lease)) {
      runs.skipped(call, taken);
      runs.end(call);
      return this.resolve(taken);
    }
    this.#lease = taken;
    runs.keep(taken);
    if (taken.confirmed && runs.hears('acquired')) runs.emit(this.#acquired(taken));
    let value: T | PromiseLike<T>;
    let pending: boolean;
    try {
      value = this.job(taken);
      pending = isPromiseLike(value);
    } catch (error) {
      return this.#end(taken, { error });
    }
    // A value that is there already is not waited for: even that would cost a turn of promises.
    if (!pending) return this.#end(taken, { value: value as T });
    Promise.resolve(value).then(
      (result) => this.#end(taken, { value: result }),
      (error: unknown) => this.#end(taken, { error }),
    );
  }

  failed(error: Error): void {
    this.runs.end(this.call);
    this.reject(error);
  }

  /** The job has ended: gives its lease back. */
  #end(lease: Lease, ended: Ended<T>): void {
    const now = this.runs.clock.monotonic();
    this.#ended = ended;
    lease.end(now);
    this.#duration = Math.round(now - lease.startedAt);
    this.#outcome = outcomeOf(lease, 'error' in ended);
    if (!this.runs.drop(lease)) return this.#settle();
    // Calls for one lease must not overtake each other.
    if (lease.renewal === undefined) this.#release(lease);
    else void lease.renewal.then(() => this.#release(lease));
  }

  #release(lease: Lease): void {
    const now = this.runs.clock.monotonic();
    const { atLeast, storeTimeout: limit, ttl } = this.call.settings;
    const keepUntil = lease.startedAt + atLeast;
    const facts = {
      ref: lease.ref,
      outcome: this.#outcome,
      keepUntil,
      ambiguous: false,
      limit,
      until: now + ttl,
    };
    this.runs.releases.release(facts, now, this);
  }

  // Events of each run are written out in one piece: to add to a common part costs several times as much.

  /** The store has answered, or not in time. */
  released(result: ReleaseResult | undefined): void {
    if (this.runs.hears('released')) this.runs.emit(this.#released(result));
    this.#settle();
  }

  #released(result: ReleaseResult | undefined): ReleasedEvent {
    const lease = this.#lease as Lease;
    const ended = this.#ended as Ended<T>;
    const event: Writable<ReleasedEvent> = {
      type: 'released',
      lock: lease.ref.name,
      instance: lease.ref.holder,
      at: this.runs.clock.now(),
      fencingToken: lease.ref.fencingToken,
      outcome: this.#outcome,
      duration: this.#duration,
      confirmed: result?.released === true,
    };
    if ('error' in ended) event.error = ended.error;
    return ofRun(event, lease.ref);
  }

  #acquired(lease: Lease): AcquiredEvent {
    const { ref } = lease;
    const event: AcquiredEvent = {
      type: 'acquired',
      lock: ref.name,
      instance: ref.holder,
      at: this.runs.clock.now(),
      fencingToken: ref.fencingToken,
      expiresIn: lease.expiresIn(lease.startedAt),
    };
    return ofRun(event, ref);
  }

  #settle(): void {
    const ended = this.#ended as Ended<T>;
    this.runs.end(this.call);
    if ('error' in ended) this.reject(ended.error);
    else this.resolve({ ran: true, value: ended.value });
  }
}

function outcomeOf(lease: Lease, failed: boolean): ReleaseOutcome {
  if (lease.abortReason instanceof LockTimeoutError) return 'timed-out';
  if (lease.abortReason !== undefined) return 'aborted';
  return failed ? 'failed' : 'completed';
}

const isPromiseLike = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
