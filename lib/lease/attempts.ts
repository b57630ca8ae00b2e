import { v4 as uuid } from 'uuid';
import type { Clock } from '../clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../errors.js';
import type { AcquireRefusal, AcquireRequest, AcquireResult, LeaseRef } from '../stores/lock-store.js';
import { promiseOf, type Reply } from '../stores/replying-store.js';
import type { Writable } from './writable.js';
import type { AnsweringStore } from '../store-access/safe-store.js';
import type { Emit } from '../events/events.js';
import { Lease, leaseDeadline } from './lease.js';
import type { LockCall, Skipped } from './lock-call.js';
import type { Outages } from '../store-access/outages.js';
import { type Releases, wasNotApplied } from './releases.js';
import { Pending, type TimeLimits } from '../store-access/time-limits.js';

/** What the store has granted; fencing token 0 for a run without the store. */
interface Grant {
  readonly fencingToken: number;
  readonly attempt?: number;
}

/** The receiver of an attempt's outcome. Exactly one of its two methods is called, once. */
export interface Taker {
  taken(taken: Lease | Skipped): void;
  /** The store failed, and `onStoreError` is `'throw'`. */
  failed(error: Error): void;
}

/** Asks the store for leases, and cleans up after answers that are late or missing. */
export class Attempts {
  /** Jobs whose schedule was found to differ between instances. */
  readonly #mismatched = new Set<string>();
  closed = false;

  constructor(
    readonly store: AnsweringStore,
    readonly instance: string,
    readonly clock: Clock,
    readonly emit: Emit,
    readonly outages: Outages,
    readonly releases: Releases,
    readonly limits: TimeLimits,
  ) {}

  /** From now on no lease is taken: a lease that the store still grants is released at once. */
  close(): void {
    this.closed = true;
  }

  /** Makes one attempt, and passes its outcome to `taker`. */
  make(call: LockCall, taker: Taker): void {
    new Attempt(this, call, taker).send();
  }

  /** Reports, once per job, that instances disagree about its schedule. */
  compare(lease: Lease, schedule: string | undefined, previousSchedule: string | undefined): void {
    const job = lease.ref.job ?? lease.ref.name;
    if (schedule === undefined || previousSchedule === undefined || this.#mismatched.has(job)) return;
    this.#mismatched.add(job);
    const event = { type: 'schedule-mismatch', schedule, previousSchedule } as const;
    this.emit(Object.assign(lease.facts(), event));
  }
}

/** One attempt under way. An object instead of async functions: each further promise adds to the cost of each run. */
class Attempt extends Pending<AcquireResult> {
  readonly #request: AcquireRequest;
  #sent = 0;
  #pending!: Reply<AcquireResult>;

  constructor(
    private readonly all: Attempts,
    private readonly call: LockCall,
    private readonly taker: Taker,
  ) {
    super();
    this.#request = requestOf(call, all.instance);
  }

  send(): void {
    const { all, call } = this;
    const tried = all.releases.tryFirst(call.name);
    if (tried === undefined) return this.#ask();
    void tried.then((error) => {
      if (all.closed) this.taker.taken({ ran: false, reason: 'shutting-down' });
      else if (error !== undefined) this.#withoutStore(error, true);
      else this.#ask();
    });
  }

  #ask(): void {
    const { all, call } = this;
    const { storeTimeout, onStoreError } = call.settings;
    this.#sent = all.clock.monotonic();
    this.#pending = all.store.acquire(this.#request);
    if (onStoreError !== 'run') return all.limits.watch(this.#pending, storeTimeout, this, this.#sent);
    // A job that runs because of a timeout must not run in the async context of the call that armed the timer.
    void all.limits.within(promiseOf(this.#pending), storeTimeout).then(
      (result) => this.answered(result),
      (error: Error) => this.failed(error),
    );
  }

  answered(result: AcquireResult): void {
    const { all, call } = this;
    all.outages.succeeded(result.acquired ? 'acquire' : 'look', call.name);
    if (!result.acquired) return this.taker.taken(refusal(this.#request, result));
    const now = all.clock.monotonic();
    const late = now >= leaseDeadline(this.#sent, call.settings.ttl);
    if (all.closed || late) {
      all.releases.abandon(
        { ...this.#request, fencingToken: result.fencingToken },
        call.settings.storeTimeout,
      );
      // That a closing instance does not take the lease is no failure of the store.
      if (all.closed) this.taker.taken({ ran: false, reason: 'shutting-down' });
      else this.#withoutStore(tooLate());
      return;
    }
    const lease = this.#lease(result, now, this.#sent);
    if (result.previousSchedule !== undefined)
      all.compare(lease, this.#request.schedule, result.previousSchedule);
    this.taker.taken(lease);
  }

  failed(error: Error): void {
    // The store cannot keep this name: no acquire is on its way, and the store is fine.
    if (error instanceof SchedulerLockConfigError)
      return this.taker.taken({ ran: false, reason: 'invalid-name', error });
    const { releases } = this.all;
    if (!wasNotApplied(error)) {
      releases.abandon({ ...this.#request, fencingToken: 0 }, this.call.settings.storeTimeout, {
        pending: this.#pending,
        error,
        isStart: this.call.start !== undefined,
      });
    }
    this.#withoutStore(error);
  }

  /**
   * Goes on without an answer of the store, as `onStoreError` says.
   *
   * @param again whether an earlier call has failed for the same reason, so that this one was not even made
   */
  #withoutStore(error: Error, again = false): void {
    const { all, call } = this;
    const { onStoreError } = call.settings;
    const skipped = onStoreError === 'skip';
    if (again) all.outages.failedAgain(skipped);
    else all.outages.failed(error, { call: 'acquire', locks: [call.name], skipped });
    if (all.closed) return this.taker.taken({ ran: false, reason: 'shutting-down' });
    if (onStoreError === 'throw') return this.taker.failed(error);
    if (onStoreError === 'skip') return this.taker.taken({ ran: false, reason: 'store-unavailable', error });
    const lease = this.#lease({ fencingToken: 0 }, all.clock.monotonic(), undefined);
    all.emit({ type: 'unlocked', ...lease.facts(), error });
    this.taker.taken(lease);
  }

  #lease({ fencingToken, attempt }: Grant, now: number, sent: number | undefined): Lease {
    // Not `{ ...request, fencingToken }`: every run takes this path, and a spread is several times as slow.
    const { name, token, ttl, holder, job, tick } = this.#request;
    const ref: Writable<LeaseRef> = { name, token, fencingToken, ttl, holder };
    if (job !== undefined) ref.job = job;
    if (tick !== undefined) ref.tick = tick;
    if (attempt !== undefined || tick !== undefined) ref.attempt = attempt ?? 1;
    return new Lease(ref, this.call.settings, now, sent, this.all.clock, this.all.emit);
  }
}

function requestOf({ name, job, settings, start }: LockCall, holder: string): AcquireRequest {
  const request: Writable<AcquireRequest> = { name, token: uuid(), ttl: settings.ttl, holder };
  if (job !== undefined) request.job = job;
  if (start === undefined) return request;
  if (start.tick === undefined) {
    if (start.interval !== undefined) request.interval = start.interval;
    return request;
  }
  request.tick = start.tick;
  if (start.maxClockSkew !== undefined) request.maxClockSkew = start.maxClockSkew;
  if (start.schedule !== undefined) request.schedule = start.schedule;
  if (start.rerun !== undefined) request.rerun = start.rerun;
  if (start.only !== undefined) request.only = start.only;
  return request;
}

function refusal(request: AcquireRequest, result: AcquireRefusal): Skipped {
  const { reason, holder, expiresIn, finished, storeTime } = result;
  const skipped: Writable<Skipped> = { ran: false, reason };
  if (holder !== undefined) skipped.holder = holder;
  if (expiresIn !== undefined) skipped.expiresIn = expiresIn;
  // To tell whose clock is wrong, a person needs the refused tick beside the store's time.
  const tick = reason === 'clock-skew' ? request.tick : result.tick;
  if (tick !== undefined) skipped.tick = tick;
  if (finished !== undefined) skipped.finished = finished;
  if (storeTime !== undefined) skipped.storeTime = storeTime;
  return skipped;
}

const tooLate = (): Error =>
  new StoreUnavailableError('The store granted the lease only when it was already over.', {
    outcome: 'unknown',
  });
