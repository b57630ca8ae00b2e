import type { LeaseRef, ReleaseOutcome, ReleaseResult } from '../contract/lock-store.js';
import { jobEnded } from './current-lock.js';
import type { Engine } from './engine.js';
import { Lease } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import { type Others, Take } from './take.js';
import type { EndOfRun } from './recorder.js';
import { isConfirmed, reportAcquired, reportReleased, reportSkipped, wasDeleted } from './reports.js';
import { refuseUndone } from './job.js';
import { isDone, LockTimeoutError } from '../base/errors.js';
import { retryIn } from '../base/job-start.js';
import { given } from '../base/shared.js';

export type Ended<T> = { readonly value: T } | { readonly error: unknown };

/** A run of a job that goes on here. */
export interface OpenRun extends Pick<LeaseRef, 'tick' | 'attempt' | 'fencingToken'> {
  readonly lock: string;
  readonly job: string;
  readonly instance: string;
  /** How long ago its signal aborted (its `timeout` has passed, or its lease is lost), ms; below 0: it has not. */
  readonly overFor: number;
}

/** The calls of its process, as one of them sees them. */
export interface Admission extends Others {
  /** A call has its lease. One that waits leaves the lock to others until then. */
  granted(run: Run): void;
  /** A call is over: right before its promise is settled. */
  over(run: Run): void;
}

/** One call through a lock, {@link run} from top to bottom: it takes a lease, runs a job under it, and gives it back. */
export class Run {
  readonly #take: Take;
  /** The lease, while its job runs. */
  lease: Lease | undefined;
  #overruns: Overruns | undefined;
  /** Whether its lease was released: then what is left of the call is given back when that is over. */
  #isReleased = false;

  constructor(
    private readonly engine: Engine,
    readonly call: LockCall,
    private readonly admission: Admission,
  ) {
    this.#take = new Take(engine, call, admission);
    engine.underWay.begin();
  }

  /** Takes the lease, keeps it while the job runs, gives it back, and reports. Rejects with what the job throws. */
  async run<T>(job: (lease: Lease) => T | Promise<T>): Promise<RunResult<T>> {
    const { engine, call } = this;
    try {
      call.signal?.throwIfAborted();
      // Awaits nothing that is not there: each further turn of promises would add to the cost of each run.
      const asked = this.#take.ask();
      let lease = asked && this.#take.afterFirst(asked, await asked.outcome);
      if (lease === undefined || lease instanceof Promise) lease = await (lease ?? this.#take.take());
      if (!(lease instanceof Lease)) {
        reportSkipped(engine, call, lease, this.#take.holding);
        return lease;
      }
      this.admission.granted(this);
      let ended = this.hold(lease, job);
      if (ended instanceof Promise) ended = await ended;
      const end = this.end(lease, ended);
      if (lease.confirmed && !engine.closed) {
        // Calls for one lease must not overtake each other.
        if (lease.renewal !== undefined) await lease.renewal;
        const answer = await this.giveBack(lease, end.outcome, end);
        reportReleased(engine, lease, end, isConfirmed(answer), wasDeleted(engine, lease, answer));
      }
      if ('error' in ended) throw ended.error;
      return { ran: true, value: ended.value };
    } finally {
      this.over();
    }
  }

  async take(): Promise<Lease | Skipped> {
    const lease = await this.#take.take();
    if (lease instanceof Lease) this.admission.granted(this);
    return lease;
  }

  /** Keeps the lease from now on, and begins its job. */
  hold<T>(lease: Lease, job: (lease: Lease) => T | Promise<T>): Ended<T> | Promise<Ended<T>> {
    const { engine } = this;
    // A shutdown does not wait for a job as it does for the store.
    engine.underWay.end();
    this.lease = lease;
    engine.heartbeat.add(lease);
    if (lease.confirmed) reportAcquired(engine, lease);
    const { by } = lease.cause.started ?? {};
    if (by !== undefined) {
      // A person has asked for the run, and will ask how it went.
      engine.recorder?.noteStart(lease);
      engine.emit({ type: 'controlled', ...lease.facts(), ...by });
    }
    try {
      const work = job(lease);
      if (!(work instanceof Promise)) return this.#done(work);
      return work.then(
        (value: T) => this.#done(value),
        (error: unknown) => (isDone(error) ? { value: undefined as T } : { error }),
      );
    } catch (error) {
      return { error };
    }
  }

  #done<T>(value: T): Ended<T> {
    try {
      refuseUndone(value, this.call);
      return { value };
    } catch (error) {
      return { error };
    }
  }

  /** The job has ended: its lease is kept no longer. */
  end(lease: Lease, ended: Ended<unknown>): EndOfRun {
    const { engine } = this;
    engine.underWay.begin();
    const now = engine.clock.monotonic();
    this.lease = undefined;
    lease.end(now);
    const duration = Math.round(now - lease.startedAt);
    const how = outcomeOf(lease, 'error' in ended);
    const shortfall = how === 'completed' ? lease.shortfall : undefined;
    const outcome = shortfall === undefined ? how : 'hollow';
    // Nested calls that the job did not await: from now on another instance may take the lock.
    if (lease.inner > 0) lease.abort(jobEnded(lease.ref.name));
    engine.heartbeat.delete(lease);
    const isOver = outcome !== 'failed' || !lease.confirmed;
    const again = isOver ? undefined : retryIn(this.call.start, lease.ref.attempt, engine.clock.now());
    if (again === undefined) noteEnd(engine.wrong, lease.ref.job, outcome);
    return {
      outcome,
      duration,
      ended,
      skippedTicks: this.#overruns?.skippedTicks ?? 0,
      retryIn: again,
      shortfall,
    };
  }

  /** Gives the lease back. @param end how its run has ended, if the store does not know */
  giveBack(lease: Lease, outcome: ReleaseOutcome, end: EndOfRun | undefined): Promise<ReleaseResult | Error> {
    const { recorder, releases } = this.engine;
    const { storeTimeout: limit } = this.call.settings;
    const record = end && recorder?.record(lease, end);
    const { ref, keptUntil: keepUntil } = lease;
    this.#isReleased = true;
    const facts = { ref, outcome, keepUntil, limit, record, retryIn: end?.retryIn };
    return releases.release(facts, this.#take);
  }

  over(): void {
    // First: a shutdown waits for what is given back.
    if (!this.#isReleased) this.#take.over();
    this.engine.underWay.end();
    this.admission.over(this);
  }

  // For the other calls of its lock.

  /** Whether its job goes on under a live lease, or has not begun. */
  get isLive(): boolean {
    return this.lease === undefined || (this.lease.live && this.lease.confirmed);
  }

  get info(): OpenRun | undefined {
    const lease = this.lease;
    if (lease?.ref.job === undefined || !lease.confirmed || this.engine.closing) return undefined;
    const { name: lock, job, fencingToken, holder: instance, tick, attempt } = lease.ref;
    const overFor = this.engine.clock.monotonic() - lease.abortedAt;
    return { lock, job, fencingToken, instance, overFor, ...given({ tick, attempt }) };
  }

  /** Another call for the lock was refused, or not even made, because of this one. */
  refused(call: LockCall): void {
    if (this.lease !== undefined) (this.#overruns ??= new Overruns(this.engine, this.lease)).count(call);
  }
}

/** How a run has ended. @param failed whether its job has thrown */
export function outcomeOf(
  { abortReason }: { readonly abortReason: unknown },
  failed: boolean,
): Exclude<ReleaseOutcome, 'abandoned' | 'hollow'> {
  if (abortReason instanceof LockTimeoutError) return 'timed-out';
  if (abortReason !== undefined) return 'aborted';
  return failed ? 'failed' : 'completed';
}

/** How many jobs that went wrong are remembered at most: a caller can make up a name per call. */
const MAX_WRONG = 1_000;

function noteEnd(wrong: Engine['wrong'], job: string | undefined, outcome: ReleaseOutcome): void {
  if (job === undefined) return;
  const isFailure = outcome === 'failed' || outcome === 'timed-out';
  if (!isFailure && outcome !== 'hollow') wrong.delete(job);
  else if (wrong.size < MAX_WRONG || wrong.has(job)) wrong.set(job, isFailure ? 'failed' : 'hollow');
}

/** A timer may fire early: fires at least this part of the interval apart count as separate fires. */
const EARLY = 0.9;

/** The fires of a job that come while it runs: counts them, and reports the first one. */
class Overruns {
  skippedTicks = 0;
  /** The last of its ticks; when the last fire of its interval came, monotonic. */
  #tick: number;
  #firedAt: number;

  constructor(
    private readonly engine: Engine,
    private readonly lease: Lease,
  ) {
    this.#tick = lease.ref.tick ?? -Infinity;
    this.#firedAt = lease.startedAt;
  }

  count(call: LockCall): void {
    if (!this.#isNext(call)) return;
    this.skippedTicks += 1;
    if (this.skippedTicks > 1) return;
    const { clock, emit } = this.engine;
    const since = Math.round(clock.now() - (clock.monotonic() - this.lease.startedAt));
    emit({ type: 'overrun', ...this.lease.facts(), since, skippedTicks: 1 });
  }

  /** A tick can be fired several times: counts it once. */
  #isNext({ kind, job, start }: LockCall): boolean {
    if (kind !== 'fired' || job !== this.lease.ref.job) return false;
    const { tick, interval } = start ?? {};
    if (tick !== undefined && tick <= this.#tick) return false;
    this.#tick = tick ?? this.#tick;
    if (interval === undefined) return true;
    const now = this.engine.clock.monotonic();
    if (now - this.#firedAt < interval * EARLY) return false;
    this.#firedAt = now;
    return true;
  }
}
