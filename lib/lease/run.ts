import type { Clock } from '../clock.js';
import { LockTimeoutError } from '../errors.js';
import type { ReleaseOutcome, ReleaseResult } from '../stores/lock-store.js';
import type { Writable } from './writable.js';
import type { Attempts, Taker } from './attempts.js';
import { jobEnded } from './current-lock.js';
import type { AcquiredEvent, Emit, Hears, ReleasedEvent } from '../events/events.js';
import { Lease, ofRun } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import type { Releases } from './releases.js';
import { refuseUndone } from './work.js';

/** What all runs of one application share. */
export interface Runs {
  readonly clock: Clock;
  readonly emit: Emit;
  readonly hears: Hears;
  readonly attempts: Attempts;
  readonly releases: Releases;
  /** Keeps a lease while its job runs. */
  keep(lease: Lease): void;
  /** Stops keeping the lease. Returns whether the store still has to release it. */
  drop(lease: Lease): boolean;
  /** Reports to the listeners that a call was skipped. */
  skipped(call: LockCall, skipped: Skipped): void;
  /** The call is over. */
  end(call: LockCall): void;
}

/** Counts the calls that are refused while the run goes on. */
export interface Refuser {
  refused(call: LockCall): void;
}

/** How a job ended. */
type Ended<T> = { readonly value: T } | { readonly error: unknown };

/** A timer may fire early: fires at least this part of the interval apart count as separate fires. */
const EARLY = 0.9;

/**
 * One call through a lock under way: take, run, give back, report.
 *
 * An object with callbacks instead of an async function: each further promise adds to the cost of each run.
 */
export class Run<T> implements Taker, Refuser {
  #lease: Lease | undefined;
  #ended: Ended<T> | undefined;
  #outcome: ReleaseOutcome = 'completed';
  #duration = 0;
  /**
   * How many fires of its job were refused; the last refused tick; when the last refused interval fired,
   * monotonic.
   */
  #missed = 0;
  #missedTick = -Infinity;
  #missedAt = 0;

  constructor(
    private readonly runs: Runs,
    private readonly call: LockCall,
    private readonly job: (lease: Lease) => T | Promise<T>,
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
    let work: T | Promise<T>;
    try {
      work = this.job(taken);
    } catch (error) {
      return this.#end(taken, { error });
    }
    // Does not await a value that is there already: even that would cost a turn of promises.
    if (!(work instanceof Promise)) return this.#done(taken, work);
    work.then(
      (value: T) => this.#done(taken, value),
      (error: unknown) => this.#end(taken, { error }),
    );
  }

  failed(error: Error): void {
    this.runs.end(this.call);
    this.reject(error);
  }

  refused(call: LockCall): void {
    const lease = this.#lease;
    if (lease === undefined || this.#ended !== undefined || !this.#isNext(call, lease)) return;
    this.#missed += 1;
    if (this.#missed > 1) return;
    const { clock, emit } = this.runs;
    const since = Math.round(clock.now() - (clock.monotonic() - lease.startedAt));
    emit({ type: 'overrun', ...lease.facts(), since, missed: this.#missed });
  }

  /**
   * Whether a call is for a tick of this very job that was not counted yet: a tick can be fired several times.
   */
  #isNext({ scheduled, job, start }: LockCall, { ref, startedAt }: Lease): boolean {
    if (!scheduled || job !== this.call.job) return false;
    const { tick, interval } = start ?? {};
    if (tick !== undefined) {
      if (tick <= Math.max(this.#missedTick, ref.tick ?? -Infinity)) return false;
      this.#missedTick = tick;
    }
    if (interval !== undefined) {
      const now = this.runs.clock.monotonic();
      if (now - Math.max(this.#missedAt, startedAt) < interval * EARLY) return false;
      this.#missedAt = now;
    }
    return true;
  }

  #done(lease: Lease, value: T): void {
    try {
      refuseUndone(value, this.call);
    } catch (error) {
      return this.#end(lease, { error });
    }
    this.#end(lease, { value });
  }

  /** The job has ended: releases its lease. */
  #end(lease: Lease, ended: Ended<T>): void {
    const now = this.runs.clock.monotonic();
    this.#ended = ended;
    lease.end(now);
    this.#duration = Math.round(now - lease.startedAt);
    this.#outcome = outcomeOf(lease, 'error' in ended);
    // Nested calls that the job did not await: from now on another instance may take the lock.
    if (lease.inner > 0) lease.abort(jobEnded(lease.ref.name));
    if (!this.runs.drop(lease)) return this.#settle();
    // Calls for one lease must not overtake each other.
    if (lease.renewal === undefined) this.#release(lease);
    else void lease.renewal.then(() => this.#release(lease));
  }

  #release(lease: Lease): void {
    const now = this.runs.clock.monotonic();
    const { atLeast, storeTimeout: limit } = this.call.settings;
    const facts = { ref: lease.ref, outcome: this.#outcome, keepUntil: lease.startedAt + atLeast, limit };
    this.runs.releases.release(facts, now, this);
  }

  // Each event is one object literal: adding fields to a common part costs several times as much.

  /** The store has answered, or did not answer in time. */
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
    if (this.#missed > 0) event.missed = this.#missed;
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
