import type { Clock } from '../clock.js';
import {
  LockNotAcquiredError,
  LockShutdownError,
  LockStateError,
  SchedulerLockConfigError,
} from '../errors.js';
import { displayName, nameProblem } from '../lock-name.js';
import type { ExtendResult, LeaseRef, LockStore } from '../stores/lock-store.js';
import type { Writable } from '../writable.js';
import { LockHandle } from './acquired-lock.js';
import { AnsweringStore } from './answering-store.js';
import { Attempts } from './attempts.js';
import { findScope, LeasedLock, type Lock, withScope } from './current-lock.js';
import type { Emit, Hears, SkippedEvent } from './events.js';
import { Heartbeat } from './heartbeat.js';
import type { Lease } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import { Outages } from './outages.js';
import { Releases } from './releases.js';
import { Run, type Runs } from './run.js';
import { TimeLimits } from './time-limits.js';

/** How long jobs get to end after their signal was aborted by a shutdown, ms. */
const ABORT_GRACE = 1_000;

/**
 * The most locks that are remembered when their runs are over: to note it costs a fraction of what it costs to forget
 * and add them each time. Names can be made up per call.
 */
const MAX_REMEMBERED = 10_000;

/** Takes, keeps and gives back the leases of one application. Knows nothing of Nest or of any scheduler. */
export class LockRunner implements Runs {
  readonly #store: AnsweringStore;
  readonly #limits: TimeLimits;
  readonly #outages: Outages;
  readonly releases: Releases;
  readonly attempts: Attempts;
  readonly #heartbeat: Heartbeat;
  /** Whether this process is attempting or running a lock, by its name. */
  readonly #busy = new Map<string, boolean>();
  /** How many calls are under way: a shutdown waits for them. */
  #running = 0;
  readonly #onIdle = new Set<() => void>();
  readonly #stopListening: (() => void) | undefined;
  #closing = false;
  #closed = false;

  constructor(
    store: LockStore,
    private readonly instance: string,
    readonly clock: Clock,
    readonly emit: Emit,
    storeTimeout: number,
    readonly hears: Hears = () => true,
  ) {
    this.#store = new AnsweringStore(store);
    this.#limits = new TimeLimits(clock);
    this.#outages = new Outages(instance, clock, emit, () => store.partitioned === true);
    this.releases = new Releases(this.#store, clock, this.#outages, this.#limits);
    this.attempts = new Attempts(
      this.#store,
      instance,
      clock,
      emit,
      this.#outages,
      this.releases,
      this.#limits,
    );
    this.#heartbeat = new Heartbeat(clock, (refs) => this.#extend(refs, storeTimeout));
    this.#stopListening = store.onAvailable?.(() => {
      this.#heartbeat.renewFailed();
      this.releases.retry();
    });
  }

  /** Notes that the store could not be reached at start-up. */
  startFailed(error: Error): void {
    this.#outages.startFailed(error);
  }

  /** Runs `job` if the lock can be taken now. Rejects with what the job throws. */
  run<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    const outer = call.scheduled || !call.settings.enabled ? undefined : findScope(this, call.name);
    if (outer !== undefined) return inside(outer.lock, job);
    return this.#start(call, (lease) => withScope(this, new LeasedLock(lease), lease, job));
  }

  /**
   * Takes the lock without a job.
   *
   * @throws LockNotAcquiredError if it cannot be taken now
   */
  async acquire(call: LockCall): Promise<LockHandle> {
    const outer = call.settings.enabled ? findScope(this, call.name)?.lease : undefined;
    // Inside a job that holds this lock: the same lease, which ends with that job.
    if (outer !== undefined) return new LockHandle(outer);
    let granted!: (handle: LockHandle) => void;
    const grant = new Promise<LockHandle>((resolve) => (granted = resolve));
    // Like a job that lasts until the handle is released, so that a shutdown treats both alike.
    const run = this.#start(call, (lease) => {
      const handle = new LockHandle(lease);
      granted(handle);
      return handle.released;
    });
    const first = await Promise.race([grant, run]);
    if (first instanceof LockHandle) {
      first.finished = run;
      return first;
    }
    const why = first as Skipped;
    throw new LockNotAcquiredError(call.name, { ...why, cause: why.error });
  }

  /**
   * Starts no more runs, gives the running ones `limit` milliseconds to end, then aborts their signals. Leases of
   * jobs that go on are left to expire. Resolves when no timer and no store call is left.
   */
  async shutdown(limit: number): Promise<void> {
    this.#closing = true;
    this.attempts.close();
    await this.#settled(limit);
    for (const lease of this.#heartbeat.leases()) {
      lease.stopRenewing();
      lease.abort(new LockShutdownError(lease.ref.name));
    }
    await this.#settled(ABORT_GRACE);
    const renewals = this.#heartbeat.leases().map(({ renewal }) => renewal);
    this.#heartbeat.stop();
    this.#stopListening?.();
    await Promise.all(renewals);
    // What is under way is answered or given up first, within its limit: what comes of it may have to be released.
    await this.#limits.settled();
    await this.releases.close();
    this.#limits.stop();
    this.#closed = true;
  }

  async #extend(refs: readonly LeaseRef[], storeTimeout: number): Promise<ExtendResult[]> {
    // A lease with a short ttl cannot wait for as long as one with a long ttl.
    const limit = refs.reduce((least, { ttl }) => Math.min(least, ttl / 3), storeTimeout);
    try {
      const results = await this.#limits.within(this.#store.extend(refs, { limit }), limit);
      // While one node of a cluster is away, the answers of the others do not end the outage.
      const away = results.some(
        (result) => result.held === null && !(result.error instanceof LockStateError),
      );
      for (const [index, result] of results.entries()) {
        const { name = '' } = refs[index] ?? {};
        if (result.held === null) this.#outages.failed(result.error, { call: 'extend', locks: [name] });
        else if (!away) this.#outages.succeeded('extend', name);
      }
      return results;
    } catch (error) {
      this.#outages.failed(error as Error, { call: 'extend', locks: refs.map(({ name }) => name) });
      throw error;
    }
  }

  /** Why a call does not even ask the store, if so. */
  #refusal({ name, settings }: LockCall): Skipped | undefined {
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
    if (this.#busy.get(name) === true) return { ran: false, reason: 'held', holder: this.instance };
    return undefined;
  }

  #start<T>(call: LockCall, job: (lease: Lease) => T | PromiseLike<T>): Promise<RunResult<T>> {
    const refusal = this.#refusal(call);
    if (refusal !== undefined) {
      this.skipped(call, refusal);
      return Promise.resolve(refusal);
    }
    this.#busy.set(call.name, true);
    this.#running += 1;
    return new Promise((resolve, reject) => new Run(this, call, job, resolve, reject).start());
  }

  end({ name }: LockCall): void {
    if (this.#busy.size > MAX_REMEMBERED) this.#busy.delete(name);
    else this.#busy.set(name, false);
    this.#running -= 1;
    if (this.#running === 0) for (const wake of this.#onIdle) wake();
  }

  keep(lease: Lease): void {
    this.#heartbeat.add(lease);
  }

  drop(lease: Lease): boolean {
    this.#heartbeat.delete(lease);
    return lease.confirmed && !this.#closed;
  }

  skipped({ name, job, start, campaign }: LockCall, skipped: Skipped): void {
    if (campaign === true) return;
    const { reason, holder, expiresIn, tick, finished, storeTime, error } = skipped;
    const lock = reason === 'invalid-name' ? displayName(name) : name;
    // Field by field: on the path of every refusal, and spreads cost several times as much.
    const event: Writable<SkippedEvent> = {
      type: 'skipped',
      lock,
      instance: this.instance,
      at: this.clock.now(),
      reason,
    };
    if (job !== undefined) event.job = job;
    if (start?.tick !== undefined) event.callTick = start.tick;
    if (holder !== undefined) event.holder = holder;
    if (expiresIn !== undefined) event.expiresIn = expiresIn;
    if (tick !== undefined) event.tick = tick;
    if (finished !== undefined) event.finished = finished;
    if (storeTime !== undefined) event.storeTime = storeTime;
    if (error !== undefined) event.error = error;
    this.emit(event);
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

async function inside<T>(lock: Lock, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
  return { ran: true, value: await job(lock) };
}
