import { LockTimeoutError, SchedulerLockConfigError, StoreUnavailableError } from '../errors.js';
import { Pending } from '../store-access/time-limits.js';
import type { AcquireRequest, AcquireResult, ReleaseOutcome, ReleaseResult } from '../stores/lock-store.js';
import { promiseOf, type Reply } from '../stores/replying-store.js';
import { jobEnded } from './current-lock.js';
import type { Engine } from './engine.js';
import { Lease, leaseDeadline } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import { Overruns } from './overruns.js';
import { wasNotApplied } from './releases.js';
import { leaseRefOf, refusalOf, requestOf } from './request.js';
import { reportAcquired, reportMismatch, reportReleased, reportSkipped } from './reports.js';
import { refuseUndone } from './work.js';

/** How a job ended. */
export type Ended<T> = { readonly value: T } | { readonly error: unknown };

/**
 * One call through a lock, from top to bottom: take the lease, keep it while the job runs, give it back, report.
 *
 * An object with callbacks instead of an async function: each further promise adds to the cost of each run.
 */
export class Run<T> extends Pending<AcquireResult> {
  readonly #request: AcquireRequest;
  /** When the acquire was sent, monotonic: the lease counts from then. */
  #sentAt = 0;
  /** The answer to the acquire; gone once the lease is kept. */
  #reply: Reply<AcquireResult> | undefined;
  #lease: Lease | undefined;
  #ended: Ended<T> | undefined;
  #outcome: ReleaseOutcome = 'completed';
  #duration = 0;
  #overruns: Overruns | undefined;

  /** @param over called when the call is over, right before its promise is settled */
  constructor(
    private readonly engine: Engine,
    private readonly call: LockCall,
    private readonly job: (lease: Lease) => T | Promise<T>,
    private readonly over: (call: LockCall) => void,
    private readonly resolve: (result: RunResult<T>) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    super();
    this.#request = requestOf(call, engine.instance);
  }

  // Take.

  /** Asks the store for the lease; before that, for a release of the lock that the store has not answered. */
  start(): void {
    const tried = this.engine.releases.tryFirst(this.call.name);
    if (tried === undefined) return this.#ask();
    void tried.then((error) => {
      if (this.engine.closing) this.#skip({ ran: false, reason: 'shutting-down' });
      else if (error !== undefined) this.#withoutStore(error, true);
      else this.#ask();
    });
  }

  #ask(): void {
    const { clock, limits, store } = this.engine;
    const { storeTimeout, onStoreError } = this.call.settings;
    this.#sentAt = clock.monotonic();
    const reply = store.acquire(this.#request);
    this.#reply = reply;
    if (onStoreError !== 'run') return limits.watch(reply, storeTimeout, this, this.#sentAt);
    // A job that runs because of a timeout must not run in the async context of the call that armed the timer.
    void limits.within(promiseOf(reply), storeTimeout).then(
      (result) => this.answered(result),
      (error: unknown) => this.failed(error as Error),
    );
  }

  /** The store has answered the acquire. */
  answered(result: AcquireResult): void {
    const { engine, call } = this;
    engine.outages.succeeded(result.acquired ? 'acquire' : 'look', call.name);
    if (!result.acquired) return this.#skip(refusalOf(this.#request, result));
    const now = engine.clock.monotonic();
    const late = now >= leaseDeadline(this.#sentAt, call.settings.ttl);
    if (engine.closing || late) {
      const ref = { ...this.#request, fencingToken: result.fencingToken };
      engine.releases.abandon(ref, call.settings.storeTimeout);
      // That a closing instance does not take the lease is no failure of the store.
      if (engine.closing) return this.#skip({ ran: false, reason: 'shutting-down' });
      return this.#withoutStore(tooLate());
    }
    const ref = leaseRefOf(this.#request, result.fencingToken, result.attempt);
    const lease = new Lease(ref, call.settings, now, this.#sentAt, engine.clock, engine.emit);
    if (result.previousSchedule !== undefined)
      reportMismatch(engine, lease, this.#request.schedule, result.previousSchedule);
    this.#keep(lease);
  }

  /** The store has failed, or not answered the acquire in time. */
  failed(error: Error): void {
    // The store cannot keep this name: no acquire is on its way, and the store is fine.
    if (error instanceof SchedulerLockConfigError)
      return this.#skip({ ran: false, reason: 'invalid-name', error });
    if (this.#reply !== undefined && !wasNotApplied(error)) {
      const failed = { pending: this.#reply, error, isStart: this.call.start !== undefined };
      this.engine.releases.abandon(
        { ...this.#request, fencingToken: 0 },
        this.call.settings.storeTimeout,
        failed,
      );
    }
    this.#withoutStore(error);
  }

  /**
   * Goes on without an answer of the store, as `onStoreError` says.
   *
   * @param again whether an earlier call has failed for the same reason, so that this one was not even made
   */
  #withoutStore(error: Error, again = false): void {
    const { engine, call } = this;
    const { onStoreError } = call.settings;
    const skipped = onStoreError === 'skip';
    if (again) engine.outages.failedAgain(skipped);
    else engine.outages.failed(error, { call: 'acquire', locks: [call.name], skipped });
    if (engine.closing) return this.#skip({ ran: false, reason: 'shutting-down' });
    if (onStoreError === 'throw') return this.#settle({ error });
    if (onStoreError === 'skip') return this.#skip({ ran: false, reason: 'store-unavailable', error });
    const ref = leaseRefOf(this.#request, 0);
    const lease = new Lease(
      ref,
      call.settings,
      engine.clock.monotonic(),
      undefined,
      engine.clock,
      engine.emit,
    );
    engine.emit({ type: 'unlocked', ...lease.facts(), error });
    this.#keep(lease);
  }

  #skip(skipped: Skipped): void {
    reportSkipped(this.engine, this.call, skipped);
    this.over(this.call);
    this.resolve(skipped);
  }

  // Keep the lease, and run the job.

  #keep(lease: Lease): void {
    const { engine } = this;
    this.#reply = undefined;
    this.#lease = lease;
    engine.heartbeat.add(lease);
    if (lease.confirmed && engine.hears('acquired')) reportAcquired(engine, lease);
    let work: T | Promise<T>;
    try {
      work = this.job(lease);
    } catch (error) {
      return this.#end(lease, { error });
    }
    // Does not await a value that is there already: even that would cost a turn of promises.
    if (!(work instanceof Promise)) return this.#done(lease, work);
    work.then(
      (value: T) => this.#done(lease, value),
      (error: unknown) => this.#end(lease, { error }),
    );
  }

  /** Another call for the lock was refused, or not even made, because of this run. */
  refused(call: LockCall): void {
    if (this.#lease === undefined || this.#ended !== undefined) return;
    this.#overruns ??= new Overruns(this.engine, this.#lease);
    this.#overruns.count(call);
  }

  #done(lease: Lease, value: T): void {
    try {
      refuseUndone(value, this.call);
    } catch (error) {
      return this.#end(lease, { error });
    }
    this.#end(lease, { value });
  }

  // Give the lease back.

  /** The job has ended. */
  #end(lease: Lease, ended: Ended<T>): void {
    const { engine } = this;
    const now = engine.clock.monotonic();
    this.#ended = ended;
    lease.end(now);
    this.#duration = Math.round(now - lease.startedAt);
    this.#outcome = outcomeOf(lease, 'error' in ended);
    // Nested calls that the job did not await: from now on another instance may take the lock.
    if (lease.inner > 0) lease.abort(jobEnded(lease.ref.name));
    engine.heartbeat.delete(lease);
    if (!lease.confirmed || engine.closed) return this.#settle(ended);
    // Calls for one lease must not overtake each other.
    if (lease.renewal === undefined) this.#release(lease);
    else void lease.renewal.then(() => this.#release(lease));
  }

  #release(lease: Lease): void {
    const { engine } = this;
    const { atLeast, storeTimeout: limit } = this.call.settings;
    const facts = { ref: lease.ref, outcome: this.#outcome, keepUntil: lease.startedAt + atLeast, limit };
    engine.releases.release(facts, engine.clock.monotonic(), (result) => this.#released(result));
  }

  // Report.

  /** The store has answered the release, or not in time. */
  #released(result: ReleaseResult | undefined): void {
    const { engine } = this;
    const [lease, ended] = [this.#lease as Lease, this.#ended as Ended<T>];
    if (engine.hears('released')) {
      const missed = this.#overruns?.missed ?? 0;
      const facts = { outcome: this.#outcome, duration: this.#duration, result, ended, missed };
      reportReleased(engine, lease, facts);
    }
    this.#settle(ended);
  }

  #settle(ended: Ended<T>): void {
    this.over(this.call);
    if ('error' in ended) this.reject(ended.error);
    else this.resolve({ ran: true, value: ended.value });
  }
}

function outcomeOf(lease: Lease, failed: boolean): ReleaseOutcome {
  if (lease.abortReason instanceof LockTimeoutError) return 'timed-out';
  if (lease.abortReason !== undefined) return 'aborted';
  return failed ? 'failed' : 'completed';
}

const tooLate = (): Error =>
  new StoreUnavailableError('The store granted the lease only when it was already over.', {
    outcome: 'unknown',
  });
