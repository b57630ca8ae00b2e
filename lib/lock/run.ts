import type { ControlAct } from '../contract/history-store.js';
import type { ReleaseOutcome, Writable } from '../contract/lock-store.js';
import { jobEnded } from './current-lock.js';
import type { Engine } from './engine.js';
import { Lease } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import { type Admission, type OpenRun, Take } from './take.js';
import type { EndOfRun } from './recorder.js';
import { Release } from './releases.js';
import { isConfirmed, reportAcquired, reportReleased, reportSkipped, wasDeleted } from './reports.js';
import { refuseUndone } from './job.js';
import { LockTimeoutError } from '../base/errors.js';

/** How a job ended. */
export type Ended<T> = { readonly value: T } | { readonly error: unknown };

/** A call that runs jobs under its lock; not the lease that it holds. */
export abstract class Holding extends Take {
  /** The lease, while its job runs. */
  #lease: Lease | undefined;
  #overruns: Overruns | undefined;
  /** The release of the lease. */
  #release: Release | undefined;

  get isLive(): boolean {
    return this.#lease === undefined || (this.#lease.live && this.#lease.confirmed);
  }

  get info(): OpenRun | undefined {
    const lease = this.#lease;
    if (lease?.ref.job === undefined || !lease.confirmed || this.engine.closing) return undefined;
    const { name: lock, job, fencingToken, holder: instance, tick, attempt } = lease.ref;
    const overFor = this.engine.clock.monotonic() - lease.abortedAt;
    const facts: Writable<OpenRun> = { lock, job, fencingToken, instance, overFor };
    if (tick !== undefined) facts.tick = tick;
    if (attempt !== undefined) facts.attempt = attempt;
    return facts;
  }

  refused(call: LockCall): void {
    if (this.#lease === undefined) return;
    this.#overruns ??= new Overruns(this.engine, this.#lease);
    this.#overruns.count(call);
  }

  /** Keeps the lease from now on, and begins its job. */
  protected hold<T>(lease: Lease, job: (lease: Lease) => T | Promise<T>): Ended<T> | Promise<Ended<T>> {
    const { engine } = this;
    this.#lease = lease;
    engine.heartbeat.add(lease);
    if (lease.confirmed) reportAcquired(engine, lease);
    const { started } = lease.cause;
    if (started?.by !== undefined) this.#noteStart(lease, started.by);
    try {
      const work = job(lease);
      // Does not await a value that is there already: even that would cost a turn of promises.
      if (!(work instanceof Promise)) return this.#done(work);
      return work.then(
        (value: T) => this.#done(value),
        (error: unknown) => ({ error }),
      );
    } catch (error) {
      return { error };
    }
  }

  /** A person has asked for the run, and will ask how it went: records and reports its start. */
  #noteStart(lease: Lease, by: ControlAct): void {
    const { engine } = this;
    engine.recorder?.noteStart(lease);
    engine.emit({ type: 'controlled', ...lease.facts(), ...by });
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
  protected end(lease: Lease, ended: Ended<unknown>): EndOfRun {
    const { engine } = this;
    const now = engine.clock.monotonic();
    this.#lease = undefined;
    lease.end(now);
    const duration = Math.round(now - lease.startedAt);
    const outcome = outcomeOf(lease, 'error' in ended);
    // Nested calls that the job did not await: from now on another instance may take the lock.
    if (lease.hasInner) lease.abort(jobEnded(lease.ref.name));
    engine.heartbeat.delete(lease);
    noteFailure(engine.failing, lease.ref.job, outcome);
    return { outcome, duration, ended, skippedTicks: this.#overruns?.skippedTicks ?? 0 };
  }

  /** What gives the lease back. @param end how its run has ended, if the store does not know */
  protected releaseOf(lease: Lease, outcome: ReleaseOutcome, end: EndOfRun | undefined): Release {
    const { storeTimeout: limit } = this.call.settings;
    const record = end && this.engine.recorder?.record(lease, end);
    const facts = { ref: lease.ref, outcome, keepUntil: lease.keptUntil, limit, record };
    return (this.#release = new Release(facts));
  }

  /** The call is over. */
  protected over(): void {
    const { line } = this;
    // An ask of this token that is still on its way is taken back only when the store knows how the run has ended: else that would say
    // that nothing ran.
    if (this.#release === undefined || this.#release.over) line?.over();
    else this.#release.onOver = () => line?.over();
    this.admission.over(this);
  }
}

type Taken = Lease | Skipped;

/** One call of a job through a lock. {@link run} has it from top to bottom. */
export class Run<T> extends Holding {
  constructor(
    engine: Engine,
    call: LockCall,
    admission: Admission,
    private readonly job: (lease: Lease) => T | Promise<T>,
  ) {
    super(engine, call, admission);
  }

  /** Takes the lease, keeps it while the job runs, gives it back, and reports. Rejects with what the job throws. */
  async run(): Promise<RunResult<T>> {
    const { engine, call } = this;
    engine.underWay.begin();
    try {
      // Awaits nothing that is not there: each further turn of promises would add to the cost of each run.
      const before = this.line === undefined ? this.before() : this.takeInLine();
      let lease: Taken | Promise<Taken> | undefined = before && (await before);
      if (lease === undefined) {
        const asked = this.send();
        lease = this.afterFirstAnswer(asked, await asked.outcome);
        if (lease instanceof Promise) lease = await lease;
      }
      if (!(lease instanceof Lease)) {
        reportSkipped(engine, call, lease, this.line?.holding);
        return lease;
      }
      engine.underWay.end();
      let ended = this.hold(lease, this.job);
      if (ended instanceof Promise) ended = await ended;
      engine.underWay.begin();
      const end = this.end(lease, ended);
      if (lease.confirmed && !engine.closed) {
        // Calls for one lease must not overtake each other.
        if (lease.renewal !== undefined) await lease.renewal;
        const release = this.releaseOf(lease, end.outcome, end);
        const asked = engine.releases.send(release);
        const answer = engine.releases.tried(release, asked, await asked.outcome);
        reportReleased(engine, lease, end, isConfirmed(answer), wasDeleted(engine, lease, answer));
      }
      if ('error' in ended) throw ended.error;
      return { ran: true, value: ended.value };
    } finally {
      engine.underWay.end();
      this.over();
    }
  }
}

/** How a run has ended. @param failed whether its job has thrown */
export function outcomeOf(
  { abortReason }: { readonly abortReason: unknown },
  failed: boolean,
): Exclude<ReleaseOutcome, 'abandoned'> {
  if (abortReason instanceof LockTimeoutError) return 'timed-out';
  if (abortReason !== undefined) return 'aborted';
  return failed ? 'failed' : 'completed';
}

/** How many failing jobs are remembered at most: a caller can make up a name per call. */
const MAX_FAILING = 1_000;

function noteFailure(failing: Set<string>, job: string | undefined, outcome: ReleaseOutcome): void {
  const failed = outcome === 'failed' || outcome === 'timed-out';
  if (!failed && failing.size === 0) return;
  if (job === undefined) return;
  if (!failed) failing.delete(job);
  else if (failing.size < MAX_FAILING) failing.add(job);
}

/** A timer may fire early: fires at least this part of the interval apart count as separate fires. */
const EARLY = 0.9;

/** The fires of a job that come while it runs: counts them, and reports the first one. */
class Overruns {
  /** How many have come. */
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
    const { lease } = this;
    const since = Math.round(clock.now() - (clock.monotonic() - lease.startedAt));
    emit({ type: 'overrun', ...lease.facts(), since, skippedTicks: this.skippedTicks });
  }

  /** Whether a call is for a tick of this very job that was not counted yet: a tick can be fired several times. */
  #isNext({ kind, job, start }: LockCall): boolean {
    if (kind !== 'fired' || job !== this.lease.ref.job) return false;
    const { tick, interval } = start ?? {};
    if (tick !== undefined) {
      if (tick <= this.#tick) return false;
      this.#tick = tick;
    }
    if (interval !== undefined) {
      const now = this.engine.clock.monotonic();
      if (now - this.#firedAt < interval * EARLY) return false;
      this.#firedAt = now;
    }
    return true;
  }
}
