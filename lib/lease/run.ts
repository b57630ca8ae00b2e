import { SchedulerLockConfigError, StoreUnavailableError } from '../errors.js';
import type { Asked, Outcome } from '../store-access/asked.js';
import type { RunRecord } from '../stores/history-store.js';
import type {
  AcquireRequest,
  AcquireResult,
  LeaseRef,
  ReleaseOutcome,
  ReleaseResult,
} from '../stores/lock-store.js';
import { AskedTwice, isWorthAnother } from './asked-twice.js';
import { jobEnded } from './current-lock.js';
import type { Drain } from './drain.js';
import type { Engine } from './engine.js';
import { InLine } from './in-line.js';
import { Lease, leaseDeadline } from './lease.js';
import { NO_LINES } from './waits.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import { noteFailure, outcomeOf } from './outcome.js';
import { Overruns } from './overruns.js';
import { Release, type ReleaseFacts } from './release.js';
import { leaseRefOf, refusalOf, requestOf } from './request.js';
import type { EndOfRun } from './recorder.js';
import {
  reportAcquired,
  reportDeleted,
  reportInterrupted,
  reportMismatch,
  reportReleased,
  reportSkipped,
} from './reports.js';
import { undo, undoOthers, wasNotApplied } from './undo.js';
import type { Writable } from './writable.js';
import { refuseUndone } from './work.js';

/** How a job ended. */
type Ended<T> = { readonly value: T } | { readonly error: unknown };

/** A run of a job that goes on here. */
export interface OpenRun extends Pick<LeaseRef, 'tick' | 'attempt' | 'fencingToken'> {
  readonly lock: string;
  readonly job: string;
  readonly instance: string;
  /** For how long it should have been over, as its `timeout` has passed or its lease is lost, ms; below 0: it should not. */
  readonly overFor: number;
}

/** A run, whatever its job returns. */
export type AnyRun = Pick<Run<unknown>, 'call' | 'isLive' | 'refused' | 'info'>;

/** What a run tells those that let it in. */
export interface Admission {
  /** A run that has waited has its lease, and its job begins. */
  begins(run: AnyRun): void;
  /** A run is over: right before its promise is settled. */
  over(run: AnyRun): void;
  /** Whether a run of the lock goes on here that has lost its lease, or never had one. */
  blocked(name: string): boolean;
  /** The locks that the caller holds. */
  holding(): string[];
}

/** One call through a lock. {@link run} has it from top to bottom. */
export class Run<T> {
  readonly #request: AcquireRequest;
  /** Its wait for the lock, if it may wait. */
  readonly #line: InLine | undefined;
  /** The locks that its caller holds, if it may wait. */
  readonly #holding: readonly string[] | undefined;
  /** The lease, while the job runs. */
  #lease: Lease | undefined;
  #overruns: Overruns | undefined;

  constructor(
    private readonly engine: Engine,
    readonly call: LockCall,
    private readonly job: (lease: Lease) => T | Promise<T>,
    private readonly admission: Admission,
    private readonly drain?: Drain,
  ) {
    const { wait = 0 } = call.settings;
    const brief = call.brief === true && wait === 0 && !engine.hears('refusal');
    const history = engine.recorder !== undefined && call.settings.history === true;
    this.#request = requestOf(call, engine.instance, { brief, history });
    if (wait === 0) return;
    this.#holding = admission.holding();
    this.#line = new InLine(engine, call, this.#request, this.#holding, () => admission.blocked(call.name));
  }

  /** Whether its job goes on under a live lease. */
  get isLive(): boolean {
    return this.#lease === undefined || (this.#lease.live && this.#lease.confirmed);
  }

  /** Takes the lease, keeps it while the job runs, gives it back, and reports. Rejects with what the job throws. */
  async run(): Promise<RunResult<T>> {
    const { engine, call } = this;
    engine.waiting.begin();
    try {
      // Each further async function would add to the cost of each run.
      const first = this.#first();
      let lease = first === undefined ? undefined : await first;
      if (lease === undefined) {
        const asked = this.#ask();
        const taken = this.#taken(asked, await asked.outcome);
        lease = taken instanceof Promise ? await taken : taken;
      }
      if (!(lease instanceof Lease)) {
        reportSkipped(engine, call, lease, this.#holding);
        return lease;
      }
      if (this.drain !== undefined) {
        await this.#workOff(this.drain, lease);
        return { ran: true, value: undefined as T };
      }
      engine.waiting.end();
      let ended = this.#begin(lease, this.job);
      if (ended instanceof Promise) ended = await ended;
      engine.waiting.begin();
      const end = this.#end(lease, ended);
      if (lease.confirmed && !engine.closed) {
        // Calls for one lease must not overtake each other.
        if (lease.renewal !== undefined) await lease.renewal;
        const release = new Release(this.#facts(lease, end.outcome, engine.recorder?.record(lease, end)));
        const asked = engine.releases.send(release);
        const answer = engine.releases.tried(release, asked, await asked.outcome);
        this.#gaveBack(lease, end, answer);
      }
      if ('error' in ended) throw ended.error;
      return { ran: true, value: ended.value };
    } finally {
      engine.waiting.end();
      this.#over();
    }
  }

  #gaveBack(lease: Lease, end: EndOfRun, answer: ReleaseResult | Error): void {
    reportDeleted(this.engine, lease, answer);
    reportReleased(this.engine, lease, end, answer);
  }

  #over(): void {
    this.#line?.over();
    this.admission.over(this);
  }

  /** What there is to know of it while its job runs. */
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

  /** Another call for the lock was refused, or not even made, because of this run. */
  refused(call: LockCall): void {
    if (this.#lease === undefined) return;
    this.#overruns ??= new Overruns(this.engine, this.#lease);
    this.#overruns.count(call);
  }

  // Take.

  /** What comes before the one ask of a call that does not wait. Calls that wait ask by themselves. */
  #first(): Promise<Lease | Skipped | undefined> | undefined {
    if (this.#line !== undefined) return this.#inLine(this.#line);
    const released = this.engine.releases.tryFirst(this.call.name);
    return released === undefined ? undefined : this.#after(released);
  }

  /** Asks until the lock is granted, or the wait is over. */
  async #inLine(line: InLine): Promise<Lease | Skipped> {
    const { engine, call, admission } = this;
    if (!engine.waits.possible) throw noLines(call);
    const released = engine.releases.tryFirst(call.name);
    let lease = released === undefined ? undefined : await this.#after(released);
    if (lease === undefined && !admission.blocked(call.name)) {
      const asked = this.#ask();
      lease = await this.#taken(asked, await asked.outcome);
    }
    if (!(lease instanceof Lease))
      lease = await line.wait(lease, (asked, outcome) => this.#answered(asked, outcome));
    if (lease instanceof Lease) admission.begins(this);
    return lease;
  }

  /** Waits for a release of the lock that the store has not answered. Goes on with why no lease is asked for, if so. */
  async #after(released: Promise<Error | undefined>): Promise<Lease | Skipped | undefined> {
    const error = await released;
    if (this.engine.closing) return { ran: false, reason: 'shutting-down' };
    return error === undefined ? undefined : this.#withoutStore(error, true);
  }

  /** @param until when to give up, monotonic */
  #ask(until?: number): Asked<AcquireResult> {
    const { clock, store } = this.engine;
    const now = clock.monotonic();
    const limit = until === undefined ? this.call.settings.storeTimeout : Math.max(1, until - now);
    return store.acquire(this.#line?.ask() ?? this.#request, limit, now);
  }

  /** What becomes of the first ask: it may be worth a second one. */
  #taken(
    asked: Asked<AcquireResult>,
    outcome: Outcome<AcquireResult>,
  ): Lease | Skipped | Promise<Lease | Skipped> {
    const isLost = 'error' in outcome && !this.engine.closing && isWorthAnother(this.call, outcome.error);
    return isLost ? this.#askAgain(asked, outcome.error) : this.#answered(asked, outcome);
  }

  /** Asks a second time, over another connection. Both together have twice the limit of one. */
  async #askAgain(first: Asked<AcquireResult>, error: Error): Promise<Lease | Skipped> {
    const { engine, call } = this;
    const asked = new AskedTwice(first, error);
    this.#line?.doubt();
    await engine.store.reconnect();
    if (asked.open) {
      if (engine.closing || call.signal?.aborted === true) asked.giveUp();
      else asked.again(this.#ask(first.sentAt + 2 * first.limit));
    }
    return this.#answered(asked, await asked.outcome);
  }

  /** The store has answered the acquire, or not. */
  #answered(asked: Asked<AcquireResult> | AskedTwice, outcome: Outcome<AcquireResult>): Lease | Skipped {
    const { engine, call } = this;
    const request = this.#line?.asked ?? this.#request;
    const { sentAt } = asked;
    if ('error' in outcome) return this.#failed(outcome.error, asked);
    const { result } = outcome;
    engine.outages.succeeded(result.acquired ? 'acquire' : 'look', call.name);
    this.#line?.told(result);
    if (!result.acquired) return refusalOf(request, result);
    if (result.interrupted !== undefined) {
      engine.recorder?.noteInterruption(call.name, result.interrupted);
      reportInterrupted(engine, call.name, result.interrupted);
    }
    const now = engine.clock.monotonic();
    if (this.#isUnwanted(now, sentAt))
      return this.#giveBack({ ...request, fencingToken: result.fencingToken }, asked);
    const ref = leaseRefOf(request, result.fencingToken, result.attempt);
    const lease = new Lease(ref, call.settings, now, sentAt, engine.clock, engine.emit, originOf(call));
    if (asked instanceof AskedTwice) undoOthers(engine.releases, lease.ref, asked);
    reportMismatch(engine, lease, call.start, result.previousSchedule);
    return lease;
  }

  /** Whether a grant came too late for its caller. */
  #isUnwanted(now: number, sentAt: number): boolean {
    const { signal, settings } = this.call;
    return signal?.aborted === true || this.engine.closing || now >= leaseDeadline(sentAt, settings.ttl);
  }

  /** @throws the reason of the call's signal */
  #giveBack(lease: LeaseRef, asked: Asked<AcquireResult> | AskedTwice): Lease | Skipped {
    const { engine, call } = this;
    if (asked instanceof AskedTwice) undo(engine.releases, lease, { asked, isStart: true });
    else engine.releases.abandon(lease, call.settings.storeTimeout);
    if (call.signal?.aborted === true) throw call.signal.reason;
    // That a closing instance does not take the lease is no failure of the store.
    return engine.closing ? { ran: false, reason: 'shutting-down' } : this.#withoutStore(tooLate());
  }

  /** The store has failed, or not answered the acquire in time. */
  #failed(error: Error, asked: Asked<AcquireResult> | AskedTwice): Lease | Skipped {
    const { engine, call } = this;
    // The store cannot keep this name: no acquire is on its way, and the store is fine.
    if (error instanceof SchedulerLockConfigError) return { ran: false, reason: 'invalid-name', error };
    if (!wasNotApplied(error))
      undo(engine.releases, this.#line?.ask() ?? this.#request, { asked, isStart: call.start !== undefined });
    return this.#withoutStore(error);
  }

  /**
   * Goes on without an answer of the store, as `onStoreError` says.
   *
   * @param again whether an earlier call has failed for the same reason, so that this one was not even made
   */
  #withoutStore(error: Error, again = false): Lease | Skipped {
    const { engine, call } = this;
    const { onStoreError } = call.settings;
    const skipped = onStoreError === 'skip';
    if (again) engine.outages.failedAgain(skipped);
    else engine.outages.failed(error, { call: 'acquire', locks: [call.name], skipped });
    if (engine.closing) return { ran: false, reason: 'shutting-down' };
    if (onStoreError === 'throw') throw error;
    if (skipped) return { ran: false, reason: 'store-unavailable', error };
    const { clock, emit } = engine;
    const ref = leaseRefOf(this.#request, 0);
    const lease = new Lease(ref, call.settings, clock.monotonic(), undefined, clock, emit, originOf(call));
    emit({ type: 'unlocked', ...lease.facts(), error });
    return lease;
  }

  // Keep the lease, and run the job.

  #begin(lease: Lease, job: (lease: Lease) => T | Promise<T>): Ended<T> | Promise<Ended<T>> {
    const { engine } = this;
    this.#lease = lease;
    engine.heartbeat.add(lease);
    if (lease.confirmed) reportAcquired(engine, lease);
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

  #done(value: T): Ended<T> {
    try {
      refuseUndone(value, this.call);
      return { value };
    } catch (error) {
      return { error };
    }
  }

  /** Runs one event after another, and gives the lease back. */
  async #workOff(drain: Drain, granted: Lease): Promise<void> {
    const { engine } = this;
    let lease = granted;
    let end: EndOfRun | undefined;
    for (;;) {
      const next = await drain.next(lease, end);
      if (typeof next === 'string') {
        // The store has the record of the last run, if it has answered.
        const unsaid = next === 'none' ? undefined : end;
        const record = unsaid && engine.recorder?.record(lease, unsaid);
        const answer = await this.#release(lease, end?.outcome ?? 'completed', record);
        if (next === 'unknown') drain.giveUp(lease);
        if (unsaid !== undefined) drain.ended(lease, unsaid, answer);
        return;
      }
      lease = next.lease;
      engine.waiting.end();
      const ended = await this.#begin(lease, next.run as (lease: Lease) => T);
      engine.waiting.begin();
      end = this.#end(lease, ended);
      if (lease.renewal !== undefined) await lease.renewal;
    }
  }

  // Give the lease back, and report.

  async #release(
    lease: Lease,
    outcome: ReleaseOutcome,
    record: RunRecord | undefined,
  ): Promise<ReleaseResult | Error> {
    const { releases } = this.engine;
    const release = new Release(this.#facts(lease, outcome, record));
    const asked = releases.send(release);
    return releases.tried(release, asked, await asked.outcome);
  }

  /** The job has ended. */
  #end(lease: Lease, ended: Ended<T>): EndOfRun {
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
    return { outcome, duration, ended, missed: this.#overruns?.missed ?? 0 };
  }

  #facts({ ref, startedAt }: Lease, outcome: ReleaseOutcome, record: RunRecord | undefined): ReleaseFacts {
    const { atLeast, storeTimeout: limit } = this.call.settings;
    return { ref, outcome, keepUntil: startedAt + atLeast, limit, record };
  }
}

const originOf = ({ kind }: LockCall): 'schedule' | undefined => (kind === 'fired' ? 'schedule' : undefined);

const noLines = ({ name }: LockCall): Error =>
  new SchedulerLockConfigError([`the lock ${JSON.stringify(name)}: ${NO_LINES} Nothing was run.`]);

const tooLate = (): Error =>
  new StoreUnavailableError('The store granted the lease only when it was already over.', {
    outcome: 'unknown',
  });
