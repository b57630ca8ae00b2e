import { v4 as uuid } from 'uuid';
import type { Clock } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { AcquireRefusal, AcquireRequest, AcquireResult, LeaseRef } from '../stores/lock-store.js';
import { promiseOf, type Reply } from '../stores/replying-store.js';
import type { Writable } from '../writable.js';
import type { AnsweringStore } from './answering-store.js';
import type { Emit } from './events.js';
import { Lease, leaseDeadline } from './lease.js';
import type { LockCall, Skipped } from './lock-call.js';
import type { Outages } from './outages.js';
import { type Releases, wasNotApplied } from './releases.js';
import { Pending, type TimeLimits } from './time-limits.js';

/** What the store has granted, or, without it, nothing (fencing token 0). */
interface Grant {
  readonly fencingToken: number;
  readonly attempt?: number;
}

/** Who wants a lease: told once, of the one or the other. */
export interface Taker {
  taken(taken: Lease | Skipped): void;
  /** The store failed, and `onStoreError` is `'throw'`. */
  failed(error: Error): void;
}

/** Asks the store for leases, and takes care of what comes of answers that are late, missing or no answers at all. */
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

  /** From now on nothing is taken: what the store still grants is given back. */
  close(): void {
    this.closed = true;
  }

  /** One attempt, whose outcome `taker` is told. */
  make(call: LockCall, taker: Taker): void {
    new Attempt(this, call, taker).send();
  }

  /** Warns, once per job, of instances that disagree on its schedule. */
  compare(lease: Lease, schedule: string | undefined, previousSchedule: string | undefined): void {
    const job = lease.ref.job ?? lease.ref.name;
    if (schedule === undefined || previousSchedule === undefined || this.#mismatched.has(job)) return;
    this.#mismatched.add(job);
    const event = { type: 'schedule-mismatch', schedule, previousSchedule } as const;
    this.emit(Object.assign(lease.facts(), event));
  }
}

/** One attempt under way. An object instead of async functions: each promise more is a part of each run's cost. */
class Attempt extends Pending<AcquireResult> {
  readonly #request: AcquireRequest;
  readonly #sent: number;
  #pending!: Reply<AcquireResult>;

  constructor(
    private readonly all: Attempts,
    private readonly call: LockCall,
    private readonly taker: Taker,
  ) {
    super();
    this.#request = requestOf(call, all.instance);
    this.#sent = all.clock.monotonic();
  }

  send(): void {
    const { all, call } = this;
    const { storeTimeout, onStoreError } = call.settings;
    this.#pending = all.store.acquire(this.#request);
    if (onStoreError !== 'run') return all.limits.watch(this.#pending, storeTimeout, this, this.#sent);
    // A job that runs because of a timeout must not run in the async context of the call that has armed the timer.
    void all.limits.within(promiseOf(this.#pending), storeTimeout).then(
      (result) => this.answered(result),
      (error: Error) => this.failed(error),
    );
  }

  answered(result: AcquireResult): void {
    const { all, call } = this;
    if (typeof result !== 'object' || result === null) {
      return this.failed(
        new TypeError(
          `The store answered an attempt with ${String(result)}. acquire() has to resolve to an AcquireResult: see LockStore.`,
        ),
      );
    }
    all.outages.succeeded(result.acquired ? 'acquire' : 'look', call.name);
    if (!result.acquired) return this.taker.taken(refusal(this.#request, result));
    const now = all.clock.monotonic();
    const late = now >= leaseDeadline(this.#sent, call.settings.ttl);
    if (all.closed || late) {
      this.#abandon(result.fencingToken);
      // What an instance that closes does not take is no failure of the store.
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
    if (!wasNotApplied(error)) this.#abandon(0);
    this.#withoutStore(error);
  }

  #abandon(fencingToken: number): void {
    const { storeTimeout: limit } = this.call.settings;
    const ref = { ...this.#request, fencingToken };
    this.all.releases.abandon(ref, { sent: this.#sent, limit, pending: this.#pending });
  }

  /** What to do when the store did not decide. */
  #withoutStore(error: Error): void {
    const { all, call } = this;
    const { onStoreError } = call.settings;
    all.outages.failed(error, { call: 'acquire', locks: [call.name], skipped: onStoreError === 'skip' });
    if (all.closed) return this.taker.taken({ ran: false, reason: 'shutting-down' });
    if (onStoreError === 'throw') return this.taker.failed(error);
    if (onStoreError === 'skip') return this.taker.taken({ ran: false, reason: 'store-unavailable', error });
    const lease = this.#lease({ fencingToken: 0 }, all.clock.monotonic(), undefined);
    all.emit({ type: 'unlocked', ...lease.facts(), error });
    this.taker.taken(lease);
  }

  #lease({ fencingToken, attempt }: Grant, now: number, sent: number | undefined): Lease {
    // Not `{ ...request, fencingToken }`: on the path of every run, and several times as slow.
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
  // What a person needs to tell whose clock is wrong: the tick that was refused, beside the store's time.
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
