import { type Clock, inModuleContext } from '../clock.js';
import { LockNotAcquiredError, LockStateError, SchedulerLockConfigError } from '../errors.js';
import { displayName, nameProblem } from '../lock-name.js';
import type { ExtendResult, LeaseRef, LockStore } from '../stores/lock-store.js';
import { LockHandle } from './acquired-lock.js';
import { AnsweringStore } from '../store-access/safe-store.js';
import { Attempts } from './attempts.js';
import { findScope, LeasedLock, type LeasedScope, type Lock, withScope } from './current-lock.js';
import type { Emit, Hears } from '../events/events.js';
import { Heartbeat } from './heartbeat.js';
import { acquireInside, runInside } from './inside.js';
import type { Lease } from './lease.js';
import type { LockCall, RunResult, Skipped } from './lock-call.js';
import { Outages } from '../store-access/outages.js';
import { Releases } from './releases.js';
import { type Refuser, Run, type Runs } from './run.js';
import { abort, ABORT_GRACE, tellOfLeft, tellOfWaiting, waitsUntil } from './shutdown.js';
import { skippedEvent } from './skipped-event.js';
import { TimeLimits } from '../store-access/time-limits.js';

/**
 * How many locks stay in the map after their runs: overwriting an entry costs a fraction of deleting and adding it each
 * time. Limited, as a caller can make up a name per call.
 */
const MAX_REMEMBERED = 10_000;

/** Takes, renews and releases the leases of one application. Knows nothing of Nest or of any scheduler. */
export class LockRunner implements Runs {
  readonly #store: AnsweringStore;
  readonly #limits: TimeLimits;
  readonly #outages: Outages;
  readonly releases: Releases;
  readonly attempts: Attempts;
  readonly #heartbeat: Heartbeat;
  /** The attempt or run of this process for each lock, by lock name; `undefined` once it is over. */
  readonly #busy = new Map<string, Refuser | undefined>();
  /** How many calls are under way: a shutdown waits for them. */
  #running = 0;
  readonly #onIdle = new Set<() => void>();
  /** Locks of elections: a shutdown does not report leadership as an unfinished run. */
  readonly #elections = new Set<string>();
  readonly #stopListening: () => void;
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
    const retry = (): void => {
      this.#heartbeat.renewFailed();
      this.releases.reconnected();
    };
    // A connection may notify in the async context of the call that opened it.
    const stops = [
      store.onAvailable?.(() => inModuleContext(retry)),
      store.onLost?.((name, holder) => this.#heartbeat.lost(name, holder)),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop?.());
  }

  /** Reports an outage: the store could not be reached at start-up. */
  startFailed(error: Error): void {
    this.#outages.startFailed(error);
  }

  /** Runs `job` if the lock can be taken now. Rejects with what the job throws. */
  run<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    const outer = this.#around(call);
    if (outer !== undefined) return runInside(outer, call, job);
    return this.#start(call, (lease) => withScope(this, new LeasedLock(lease), lease, job));
  }

  /**
   * Takes the lock without a job.
   *
   * @throws LockNotAcquiredError if it cannot be taken now
   */
  async acquire(call: LockCall): Promise<LockHandle> {
    const outer = this.#around(call);
    if (outer !== undefined) return acquireInside(outer);
    if (call.campaign === true) this.#elections.add(call.name);
    let granted!: (handle: LockHandle) => void;
    const grant = new Promise<LockHandle>((resolve) => (granted = resolve));
    // The handle acts as a job that lasts until its release, so that a shutdown treats both alike.
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
   * Starts no more runs, gives the running ones `limit` milliseconds to end, then aborts their signals. Jobs with
   * `abortOnShutdown` get the abort at once. Leases of jobs that go on are left to expire. Resolves when no timer and no
   * store call is left.
   */
  async shutdown(limit: number): Promise<void> {
    this.#closing = true;
    this.#limits.keepAlive();
    this.attempts.close();
    const tell = { instance: this.instance, emit: this.emit, clock: this.clock };
    tellOfWaiting(this.#runs(), limit, tell);
    for (const lease of this.#heartbeat.leases()) if (lease.abortOnShutdown) abort(lease);
    if (limit > 0) await this.#drained(limit);
    for (const lease of this.#heartbeat.leases()) {
      lease.stopRenewing();
      abort(lease);
    }
    await this.#drained(0);
    tellOfLeft(this.#runs(), tell);
    const renewals = this.#heartbeat.leases().map(({ renewal }) => renewal);
    this.#heartbeat.stop();
    this.#stopListening();
    await Promise.all(renewals);
    this.releases.close();
    // Each pending store call, and each release that follows from it, is answered or given up within its limit.
    await this.#limits.settled();
    this.#limits.stop();
    this.releases.stop();
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

  /** The enclosing scope that a call belongs to, if any. A call that a schedule fires is a run of its own. */
  #around({ name, settings, scheduled, start }: LockCall): LeasedScope | undefined {
    return scheduled || start !== undefined || !settings.enabled ? undefined : findScope(this, name);
  }

  /** Why a call is refused without asking the store; `undefined` if it may ask. */
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
    // The store would answer the same, except for a run here whose lease was lost: that one may still be going on.
    if (this.#busy.get(name) !== undefined) return { ran: false, reason: 'held', holder: this.instance };
    return undefined;
  }

  #start<T>(call: LockCall, job: (lease: Lease) => T | Promise<T>): Promise<RunResult<T>> {
    const refusal = this.#refusal(call);
    if (refusal !== undefined) {
      this.skipped(call, refusal);
      if (refusal.reason === 'held') this.passedOver(call);
      return Promise.resolve(refusal);
    }
    this.#running += 1;
    return new Promise((resolve, reject) => {
      const run = new Run(this, call, job, resolve, reject);
      this.#busy.set(call.name, run);
      run.start();
    });
  }

  /** A call was refused, or not even made, because this process is running a job under the lock. */
  passedOver(call: LockCall): void {
    this.#busy.get(call.name)?.refused(call);
  }

  end({ name }: LockCall): void {
    if (this.#busy.size > MAX_REMEMBERED) this.#busy.delete(name);
    else this.#busy.set(name, undefined);
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

  skipped(call: LockCall, skipped: Skipped): void {
    if (call.campaign !== true) this.emit(skippedEvent(call, skipped, this.instance, this.clock.now()));
  }

  #runs(): Lease[] {
    return this.#heartbeat.leases().filter(({ ref }) => !this.#elections.has(ref.name));
  }

  /** Waits until nothing runs any more: `limit` milliseconds at most, and for each run until its `waitsUntil()`. */
  async #drained(limit: number): Promise<void> {
    const began = this.clock.monotonic();
    while (this.#running > 0) {
      const leases = this.#heartbeat.leases();
      const attempts = this.#running > leases.length ? [began + (limit || ABORT_GRACE)] : [];
      const left = Math.max(...attempts, ...leases.map((lease) => waitsUntil(lease, began, limit)));
      const now = this.clock.monotonic();
      if (left <= now) return;
      // Checks again at short intervals: a lease may be lost at any time.
      await this.#settled(Math.min(left - now, ABORT_GRACE));
    }
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
