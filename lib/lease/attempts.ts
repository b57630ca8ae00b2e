import { v4 as uuid } from 'uuid';
import type { Clock } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { AcquireRequest, AcquireResult, LeaseRef, LockStore } from '../stores/lock-store.js';
import type { Emit } from './events.js';
import { Lease, leaseDeadline } from './lease.js';
import type { LockCall, Skipped } from './lock-call.js';
import type { Outages } from './outages.js';
import { type Releases, wasNotApplied } from './releases.js';
import { called, type TimeLimits, type Waiting } from './time-limits.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** What the store has granted, or, without it, nothing (fencing token 0). */
interface Grant {
  readonly fencingToken: number;
  readonly attempt?: number;
}

/** Asks the store for leases, and takes care of what comes of answers that are late, missing or no answers at all. */
export class Attempts {
  /** Jobs whose schedule was found to differ between instances. */
  readonly #mismatched = new Set<string>();
  closed = false;

  constructor(
    readonly store: LockStore,
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

  /**
   * One attempt.
   *
   * @returns a promise that rejects only if the store failed and `onStoreError` is `'throw'`
   */
  make(call: LockCall): Promise<Lease | Skipped> {
    return new Promise((resolve, reject) => new Attempt(this, call, resolve, reject).send());
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
class Attempt implements Waiting<AcquireResult> {
  readonly #request: AcquireRequest;
  readonly #sent: number;
  #pending!: Promise<AcquireResult>;

  constructor(
    private readonly all: Attempts,
    private readonly call: LockCall,
    private readonly resolve: (taken: Lease | Skipped) => void,
    private readonly reject: (error: Error) => void,
  ) {
    this.#request = requestOf(call, all.instance);
    this.#sent = all.clock.monotonic();
  }

  send(): void {
    this.#pending = called(() => this.all.store.acquire(this.#request));
    this.all.limits.watch(this.#pending, this.call.settings.storeTimeout, this);
  }

  answered(result: AcquireResult): void {
    const { all, call } = this;
    all.outages.succeeded(call.name);
    if (!result.acquired) return this.resolve(refusal(this.#request, result));
    const late = all.clock.monotonic() >= leaseDeadline(this.#sent, call.settings.ttl);
    if (all.closed || late) {
      this.#abandon(result.fencingToken);
      // What an instance that closes does not take is no failure of the store.
      if (all.closed) this.resolve({ ran: false, reason: 'shutting-down' });
      else this.#withoutStore(tooLate());
      return;
    }
    const lease = this.#lease(result, this.#sent);
    if (result.previousSchedule !== undefined)
      all.compare(lease, this.#request.schedule, result.previousSchedule);
    this.resolve(lease);
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
    all.outages.failed(error, { skipped: onStoreError === 'skip' });
    if (all.closed) return this.resolve({ ran: false, reason: 'shutting-down' });
    if (onStoreError === 'throw') return this.reject(error);
    if (onStoreError === 'skip') return this.resolve({ ran: false, reason: 'store-unavailable', error });
    const { name: lock, job } = call;
    const facts = { lock, ...(job === undefined ? undefined : { job }), instance: all.instance };
    all.emit({ type: 'unlocked', ...facts, at: all.clock.now(), error });
    this.resolve(this.#lease({ fencingToken: 0 }, undefined));
  }

  #lease({ fencingToken, attempt }: Grant, sent: number | undefined): Lease {
    // Not `{ ...request, fencingToken }`: on the path of every run, and several times as slow.
    const { name, token, ttl, holder, job, tick } = this.#request;
    const ref: Writable<LeaseRef> = { name, token, fencingToken, ttl, holder };
    if (job !== undefined) ref.job = job;
    if (tick !== undefined) ref.tick = tick;
    if (attempt !== undefined || tick !== undefined) ref.attempt = attempt ?? 1;
    return new Lease(ref, this.call.settings, sent, this.all.clock, this.all.emit);
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

function refusal(request: AcquireRequest, result: AcquireResult & { acquired: false }): Skipped {
  const { acquired: _acquired, ...why } = result;
  // What a person needs to tell whose clock is wrong: the tick that was refused, beside the store's time.
  const skewed = why.reason === 'clock-skew' && request.tick !== undefined;
  return { ran: false, ...why, ...(skewed ? { tick: request.tick } : undefined) };
}

const tooLate = (): Error =>
  new StoreUnavailableError('The store granted the lease only when it was already over.', {
    outcome: 'unknown',
  });
