import { v4 as uuid } from 'uuid';
import type { Clock } from '../clock.js';
import {
  LockNotAcquiredError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  SchedulerLockConfigError,
  StoreUnavailableError,
} from '../errors.js';
import { displayName, nameProblem } from '../lock-name.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOutcome,
} from '../stores/lock-store.js';
import { type AcquiredLock, LockHandle } from './acquired-lock.js';
import { findScope, LeasedLock, type Lock, withScope } from './current-lock.js';
import type { Emit } from './events.js';
import { Heartbeat } from './heartbeat.js';
import { Lease, leaseDeadline } from './lease.js';
import type { LockCall, LockSettings, RunResult, Skipped } from './lock-call.js';
import { Outages } from './outages.js';
import { Releases, wasNotApplied } from './releases.js';
import { called, within } from './time-limit.js';

/** How long jobs get to end after their signal was aborted by a shutdown, ms. */
const ABORT_GRACE = 1_000;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Takes, keeps and gives back the leases of one application. Knows nothing of Nest or of any scheduler. */
export class LockRunner {
  readonly #heartbeat: Heartbeat;
  readonly #outages: Outages;
  readonly #releases: Releases;
  /** Names of the locks that this process is attempting or running. */
  readonly #busy = new Set<string>();
  /** How many calls are under way: a shutdown waits for them. */
  #running = 0;
  readonly #onIdle = new Set<() => void>();
  readonly #leases = new Set<Lease>();
  readonly #stopListening: (() => void) | undefined;
  /** Jobs whose schedule was found to differ between instances. */
  readonly #mismatched = new Set<string>();
  #closing = false;
  #closed = false;

  constructor(
    private readonly store: LockStore,
    private readonly instance: string,
    private readonly clock: Clock,
    private readonly emit: Emit,
    storeTimeout: number,
  ) {
    this.#outages = new Outages(instance, clock, emit);
    this.#releases = new Releases(store, clock, this.#outages);
    this.#heartbeat = new Heartbeat(clock, (refs) => this.#extend(refs, storeTimeout));
    this.#stopListening = store.onAvailable?.(() => {
      this.#heartbeat.renewFailed();
      this.#releases.retry();
    });
  }

  /** Notes that the store could not be reached at start-up. */
  startFailed(error: Error): void {
    this.#outages.failed(error, { atStart: true });
  }

  /** Runs `job` if the lock can be taken now. Rejects with what the job throws. */
  async run<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    const outer = call.scheduled || !call.settings.enabled ? undefined : findScope(this, call.name);
    if (outer !== undefined) return { ran: true, value: await job(outer.lock) };
    this.#running += 1;
    let lease: Lease | undefined;
    let thrown: { error: unknown } | undefined;
    try {
      const taken = await this.#take(call);
      if (!(taken instanceof Lease)) return this.#skipped(call, taken);
      lease = taken;
      const lock = new LeasedLock(lease);
      return { ran: true, value: await withScope({ owner: this, lock, lease }, () => job(lock)) };
    } catch (error) {
      thrown = { error };
      throw error;
    } finally {
      if (lease !== undefined) await this.#finish(call, lease, thrown);
      this.#ended();
    }
  }

  /**
   * Takes the lock without a job.
   *
   * @throws LockNotAcquiredError if it cannot be taken now
   */
  async acquire(call: LockCall): Promise<AcquiredLock> {
    const outer = call.settings.enabled ? findScope(this, call.name)?.lease : undefined;
    // Inside a job that holds this lock: the same lease, which ends with that job.
    if (outer !== undefined) return new LockHandle(outer);
    let granted!: (handle: LockHandle) => void;
    const grant = new Promise<LockHandle>((resolve) => (granted = resolve));
    // Like a job that lasts until the handle is released, so that a shutdown treats both alike.
    const run = this.#track(async () => {
      const taken = await this.#take(call);
      if (!(taken instanceof Lease)) return this.#skipped(call, taken);
      const handle = new LockHandle(taken);
      granted(handle);
      await handle.released;
      await this.#finish(call, taken, undefined);
      return handle;
    });
    const first = await Promise.race([grant, run]);
    if (!(first instanceof LockHandle))
      throw new LockNotAcquiredError(call.name, { ...first, cause: first.error });
    first.finished = run;
    return first;
  }

  /**
   * Starts no more runs, gives the running ones `limit` milliseconds to end, then aborts their signals. Leases of
   * jobs that go on are left to expire. Resolves when no timer and no store call is left.
   */
  async shutdown(limit: number): Promise<void> {
    this.#closing = true;
    await this.#settled(limit);
    for (const lease of this.#leases) {
      lease.stopRenewing();
      lease.abort(new LockShutdownError(lease.ref.name));
    }
    await this.#settled(ABORT_GRACE);
    this.#heartbeat.stop();
    this.#stopListening?.();
    await Promise.all([...this.#leases].map(({ renewal }) => renewal));
    await this.#releases.close();
    this.#closed = true;
  }

  async #extend(refs: readonly LeaseRef[], storeTimeout: number): Promise<ExtendResult[]> {
    // A lease with a short ttl cannot wait for as long as one with a long ttl.
    const limit = refs.reduce((least, { ttl }) => Math.min(least, ttl / 3), storeTimeout);
    try {
      const results = await within(
        called(() => this.store.extend(refs, { limit })),
        limit,
        this.clock,
      );
      // While one node of a cluster is away, the answers of the others do not end the outage.
      const away = results.some(
        (result) => result.held === null && !(result.error instanceof LockStateError),
      );
      for (const [index, result] of results.entries()) {
        if (result.held === null) this.#outages.failed(result.error);
        else if (!away) this.#outages.succeeded(refs[index]?.name ?? '');
      }
      return results;
    } catch (error) {
      this.#outages.failed(error as Error);
      throw error;
    }
  }

  async #take(call: LockCall): Promise<Lease | Skipped> {
    const { name, settings } = call;
    if (!settings.enabled) return { ran: false, reason: 'disabled' };
    if (this.#closing) return { ran: false, reason: 'shutting-down' };
    const problem = nameProblem(name);
    if (problem !== undefined) {
      const error = new SchedulerLockConfigError([
        `the lock name ${displayName(name)} is not valid: ${problem}. Nothing was run.`,
      ]);
      return { ran: false, reason: 'invalid-name', error };
    }
    // Asking the store would only say the same; and a run whose lease was lost may still be going on here.
    if (this.#busy.has(name)) return { ran: false, reason: 'held', holder: this.instance };
    this.#busy.add(name);
    let lease: Lease | undefined;
    try {
      const taken = await this.#attempt(call);
      if (!(taken instanceof Lease)) return taken;
      lease = taken;
    } finally {
      if (lease === undefined) this.#busy.delete(name);
    }
    this.#leases.add(lease);
    this.#heartbeat.add(lease);
    if (lease.confirmed) this.emit({ type: 'acquired', ...lease.facts() });
    return lease;
  }

  async #attempt({ name, job, settings, start }: LockCall): Promise<Lease | Skipped> {
    const { ttl, storeTimeout: limit } = settings;
    const request: Writable<AcquireRequest> = { name, token: uuid(), ttl, holder: this.instance };
    if (job !== undefined) request.job = job;
    if (start?.tick !== undefined) {
      request.tick = start.tick;
      if (start.maxClockSkew !== undefined) request.maxClockSkew = start.maxClockSkew;
      if (start.schedule !== undefined) request.schedule = start.schedule;
      if (start.rerun !== undefined) request.rerun = start.rerun;
      if (start.only !== undefined) request.only = start.only;
    } else if (start?.interval !== undefined) request.interval = start.interval;
    const sent = this.clock.monotonic();
    const pending = called(() => this.store.acquire(request));
    const abandon = (fencingToken = 0): void => {
      this.#releases.abandon({ ...request, fencingToken }, { sent, limit, pending });
    };
    let result: AcquireResult;
    try {
      result = await within(pending, limit, this.clock);
    } catch (error) {
      if (!wasNotApplied(error)) abandon();
      return this.#withoutStore(request, settings, error as Error);
    }
    this.#outages.succeeded(name);
    if (!result.acquired) {
      const { acquired: _acquired, ...refusal } = result;
      // What a person needs to tell whose clock is wrong: the tick that was refused, beside the store's time.
      const skewed = refusal.reason === 'clock-skew' && request.tick !== undefined;
      return { ran: false, ...refusal, ...(skewed ? { tick: request.tick } : undefined) };
    }
    const late = this.clock.monotonic() >= leaseDeadline(sent, ttl);
    if (!late && !this.#closing) {
      const lease = this.#lease(request, result, settings, sent);
      this.#compare(lease, request.schedule, result.previousSchedule);
      return lease;
    }
    abandon(result.fencingToken);
    if (this.#closing) return { ran: false, reason: 'shutting-down' };
    const error = new StoreUnavailableError('The store granted the lease only when it was already over.', {
      outcome: 'unknown',
    });
    return this.#withoutStore(request, settings, error);
  }

  /** Warns, once per job, of instances that disagree on its schedule. */
  #compare(lease: Lease, schedule: string | undefined, previousSchedule: string | undefined): void {
    const job = lease.ref.job ?? lease.ref.name;
    if (schedule === undefined || previousSchedule === undefined || this.#mismatched.has(job)) return;
    this.#mismatched.add(job);
    this.emit({ type: 'schedule-mismatch', ...lease.facts(), schedule, previousSchedule });
  }

  /** What to do when the store did not decide. */
  #withoutStore(request: AcquireRequest, settings: LockSettings, error: Error): Lease | Skipped {
    this.#outages.failed(error, { skipped: settings.onStoreError === 'skip' });
    if (this.#closing) return { ran: false, reason: 'shutting-down' };
    if (settings.onStoreError === 'throw') throw error;
    if (settings.onStoreError === 'skip') return { ran: false, reason: 'store-unavailable', error };
    const { name, job } = request;
    const facts = { lock: name, ...(job === undefined ? undefined : { job }), instance: this.instance };
    this.emit({ type: 'unlocked', ...facts, at: this.clock.now(), error });
    return this.#lease(request, { fencingToken: 0 }, settings, undefined);
  }

  #lease(
    request: AcquireRequest,
    {
      fencingToken,
      attempt = request.tick === undefined ? undefined : 1,
    }: { fencingToken: number; attempt?: number },
    settings: LockSettings,
    sent: number | undefined,
  ): Lease {
    // Not `{ ...request, fencingToken }`: on the path of every run, and several times as slow.
    const { name, token, ttl, holder, job, tick } = request;
    const ref: Writable<LeaseRef> = { name, token, fencingToken, ttl, holder };
    if (job !== undefined) ref.job = job;
    if (tick !== undefined) ref.tick = tick;
    if (attempt !== undefined) ref.attempt = attempt;
    return new Lease(ref, settings, sent, this.clock, this.emit);
  }

  async #finish(
    { name, settings }: LockCall,
    lease: Lease,
    thrown: { error: unknown } | undefined,
  ): Promise<void> {
    lease.end();
    const duration = Math.round(lease.age);
    this.#heartbeat.delete(lease);
    this.#leases.delete(lease);
    if (lease.confirmed && !this.#closed) {
      if (lease.renewal !== undefined) await lease.renewal;
      const outcome = outcomeOf(lease, thrown !== undefined);
      const result = await this.#releases.release(lease.ref, {
        outcome,
        keepUntil: lease.startedAt + settings.atLeast,
        limit: settings.storeTimeout,
        expiresAt: this.clock.monotonic() + settings.ttl,
      });
      const confirmed = result?.released === true;
      const event = { type: 'released', ...lease.facts(), outcome, duration, confirmed } as const;
      this.emit(thrown === undefined ? event : { ...event, error: thrown.error });
    }
    this.#busy.delete(name);
  }

  #skipped(call: LockCall, skipped: Skipped): Skipped {
    const { ran: _ran, ...why } = skipped;
    const facts = {
      lock: displayName(call.name),
      ...(call.job === undefined ? undefined : { job: call.job }),
      instance: this.instance,
    };
    this.emit({ type: 'skipped', ...facts, at: this.clock.now(), ...why });
    return skipped;
  }

  async #track<T>(start: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await start();
    } finally {
      this.#ended();
    }
  }

  #ended(): void {
    this.#running -= 1;
    if (this.#running === 0) for (const wake of this.#onIdle) wake();
  }

  /** Waits until nothing runs any more, `limit` milliseconds at most. */
  async #settled(limit: number): Promise<void> {
    if (this.#running === 0) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#onIdle.delete(wake);
        resolve();
      };
      const timer = this.clock.setTimer(wake, limit, { keepAlive: true });
      this.#onIdle.add(wake);
    });
  }
}

function outcomeOf(lease: Lease, failed: boolean): ReleaseOutcome {
  if (lease.abortReason instanceof LockTimeoutError) return 'timed-out';
  if (lease.abortReason !== undefined) return 'aborted';
  return failed ? 'failed' : 'completed';
}
