/*
 * lib/lock: one call through a lock: take it, keep it, run the job, give it back, report. Waiting, releases and shutdown belong to it.
 * May not enter: jobs, schedules, Nest. The store is reached through lock/access only.
 */
import { noLongerThan, UnderWay } from '../base/clock.js';
import { LockNotAcquiredError, LockShutdownError, SchedulerLockConfigError } from '../base/errors.js';
import { displayName, nameProblem } from '../base/lock-name.js';
import type { Outcome } from './access/safe-store.js';
import type { Enqueued, NewQueuedCall } from '../contract/queued-call-store.js';
import {
  findScope,
  heldLocks,
  LeasedLock,
  type LeasedScope,
  type Lock,
  LockHandle,
  withinScope,
  withScope,
} from './current-lock.js';
import { type Around, refuseUndone, wrapped } from './job.js';
import { Drain, type Drainer } from './drain.js';
import { Engine } from './engine.js';
import type { Lease } from './lease.js';
import { type LockCall, mayBeNested, mayWait, type RunResult, type Skipped } from './lock-call.js';
import type { Recorder } from './recorder.js';
import { reportSkipped } from './reports.js';
import { type Admission, type OpenRun, Run } from './run.js';
import type { UnfinishedRun } from '../contract/events/instance-events.js';

/** How many locks stay in the map after their runs: overwriting an entry is far cheaper than deleting and adding it each time. */
const MAX_REMEMBERED = 10_000;

/** The locks of one application: decides which calls may ask for their lease, knows which are under way, and shuts down. */
export class LockRunner {
  readonly #engine: Engine;
  /** The run of this process for each lock, by lock name; `undefined` once it is over. */
  readonly #busy = new Map<string, Run | undefined>();
  readonly #running = new UnderWay();
  #wrappers: readonly { readonly wrap: Around }[] = [];
  #shutdown: Promise<void> | undefined;

  constructor(...parts: ConstructorParameters<typeof Engine>) {
    this.#engine = new Engine(...parts);
  }

  startFailed(error: Error): void {
    this.#engine.outages.startFailed(error);
  }

  /** Runs `job` if the lock can be taken now. Rejects with what the job throws. */
  run<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    const outer = this.#around(call);
    if (outer !== undefined) return runInside(outer, call, job);
    return this.#start(call, (lease) => this.#within(lease, job));
  }

  /** Has the store remember runs from now on; `undefined`: not any more. */
  remember(recorder: Recorder | undefined): void {
    this.#engine.recorder = recorder;
  }

  /** Wraps something around each run from now on. Returns a function that ends this. */
  around(wrap: Around): () => void {
    const entry = { wrap };
    this.#wrappers = [...this.#wrappers, entry];
    return () => void (this.#wrappers = this.#wrappers.filter((one) => one !== entry));
  }

  /** Takes the lock without a job. @throws LockNotAcquiredError if it cannot be taken now */
  async acquire(call: LockCall): Promise<LockHandle> {
    const outer = this.#around(call);
    if (outer !== undefined) return acquireInside(outer);
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
    throw new LockNotAcquiredError(call.name, { ...(first as Skipped), cause: (first as Skipped).error });
  }

  /** Waits for the lock, and runs its queued calls. Never rejects: what the store has done wrong counts as an outage. */
  drain(call: LockCall, drainer: Drainer): Promise<RunResult<void>> {
    const refusal = this.#refusal(call);
    if (refusal !== undefined) return Promise.resolve(refusal);
    const within = (lease: Lease, job: () => unknown): unknown => this.#within(lease, job);
    this.#running.begin();
    return new Drain(this.#engine, call, this.#admission, drainer, within).run().catch((thrown: unknown) => {
      const error = thrown as Error;
      this.#engine.outages.failed(error, 'acquire', [call.name]);
      return { ran: false, reason: 'store-unavailable', error };
    });
  }

  /** Queues a call. @param limit ms */
  async enqueue(queuedCall: NewQueuedCall, limit: number): Promise<Outcome<Enqueued>> {
    const { store, clock, outages, underWay } = this.#engine;
    // A shutdown may have taken the call out of line.
    underWay.begin();
    const outcome = await store.enqueue(queuedCall, limit, clock.monotonic()).outcome;
    if ('error' in outcome) outages.failed(outcome.error, 'enqueue', [queuedCall.name], true);
    else outages.succeeded('enqueue', queuedCall.name);
    underWay.end();
    return outcome;
  }

  /** Opens the channel for hints. Returns whether the store sends hints to calls in line. */
  openHints(): boolean {
    return !this.#engine.closing && this.#engine.waits.openHints();
  }

  /** Sets the listener for hints that somebody else has queued calls. */
  onQueued(listener: () => void): void {
    this.#engine.waits.onQueued = listener;
  }

  /** What is known of the store and of the jobs here, without asking anybody. */
  get condition() {
    const { outages, wrong } = this.#engine;
    return { away: outages.isAway, answeredAt: outages.answeredAt, wrong };
  }

  get runs(): OpenRun[] {
    return [...this.#busy.values()].flatMap((run) => run?.info ?? []);
  }

  heard(): void {
    this.#engine.outages.heard();
  }

  // Admission.

  #start<T>(call: LockCall, job: (lease: Lease) => T | Promise<T>): Promise<RunResult<T>> {
    const refusal = this.#refusal(call);
    if (refusal !== undefined) {
      reportSkipped(this.#engine, call, refusal);
      // This process is running a job under the lock.
      if (refusal.reason === 'held') this.#busy.get(call.name)?.refused(call);
      return Promise.resolve(refusal);
    }
    this.#running.begin();
    const run = new Run(this.#engine, call, this.#admission);
    // One that waits leaves the lock to others until its turn has come.
    if (!mayWait(call.settings)) this.#busy.set(call.name, run);
    return run.run(job);
  }

  readonly #admission: Admission = {
    granted: (run) => void this.#busy.set(run.call.name, run),
    over: (run) => {
      const { name } = run.call;
      if (this.#busy.get(name) === run) {
        if (this.#busy.size > MAX_REMEMBERED) this.#busy.delete(name);
        else this.#busy.set(name, undefined);
      }
      this.#running.end();
    },
    blocked: (name) => this.#busy.get(name)?.isLive === false,
    holding: () => heldLocks(this),
  };

  #within<T>(lease: Lease, job: (lock: Lock) => T | PromiseLike<T>): T | Promise<T> {
    const around = this.#wrappers.reduceRight<typeof job>(
      (inner, { wrap }) =>
        (lock) =>
          wrapped(wrap, lock, inner),
      job,
    );
    return withScope(this, new LeasedLock(lease), lease, around);
  }

  /** The enclosing scope that a call belongs to, if any. A call that a schedule fires is a run of its own. */
  #around(call: LockCall): LeasedScope | undefined {
    return call.settings.enabled && mayBeNested(call) ? findScope(this, call.name) : undefined;
  }

  /** Why a call is refused without asking the store; `undefined` if it may ask. */
  #refusal(call: LockCall): Skipped | undefined {
    const { name, settings } = call;
    if (!settings.enabled) return { ran: false, reason: 'disabled' };
    if (this.#engine.closing) return { ran: false, reason: 'shutting-down' };
    const problem = nameProblem(name);
    if (problem !== undefined) {
      const sentence = `the lock name ${displayName(name)} is not valid: ${problem}. Nothing was run.`;
      return { ran: false, reason: 'invalid-name', error: new SchedulerLockConfigError([sentence]) };
    }
    // The store would answer the same, except for a run here whose lease was lost: that one may still be going on.
    if (!mayWait(settings) && this.#busy.get(name) !== undefined)
      return { ran: false, reason: 'held', holder: this.#engine.instance };
    return undefined;
  }

  // Shutdown.

  shutdown(limit: number): Promise<void> {
    return (this.#shutdown ??= this.#shutDown(limit));
  }

  /**
   * Starts no more runs, gives the running ones `limit` milliseconds to end, then aborts their signals. Leases of jobs that go on are left
   * to expire. Resolves when no timer and no store call is left.
   */
  async #shutDown(limit: number): Promise<void> {
    const engine = this.#engine;
    const { instance, clock, emit, heartbeat } = engine;
    engine.closing = true;
    engine.waits.close();
    engine.limits.keepAlive();
    const running = this.#runs().map(unfinished);
    if (running.length > 0)
      emit({ type: 'shutdown', phase: 'waiting', runs: running, instance, at: clock.now(), timeout: limit });
    await this.#drained(limit);
    for (const lease of heartbeat.leases()) {
      lease.stopRenewing();
      lease.abort(new LockShutdownError(lease.ref.name));
    }
    await noLongerThan(ABORT_GRACE, this.#running.idle(), clock);
    const now = clock.monotonic();
    const left = this.#runs().map((lease) => ({
      ...unfinished(lease),
      ...(lease.confirmed && lease.live && { expiresIn: lease.expiresIn(now) }),
    }));
    if (left.length > 0) emit({ type: 'shutdown', phase: 'left', runs: left, instance, at: clock.now() });
    await engine.close();
  }

  /** The leases of runs. Leadership is no unfinished run. */
  #runs(): Lease[] {
    const runs = [...this.#busy.values()].filter((run) => run?.call.kind !== 'election');
    return runs.flatMap((run) => run?.lease ?? []);
  }

  /** Waits until nothing runs any more, or only jobs whose signal has aborted, which may never end: `limit` milliseconds at most. */
  async #drained(limit: number): Promise<void> {
    const { clock, heartbeat } = this.#engine;
    const end = clock.monotonic() + limit;
    while (this.#running.count > 0) {
      const leases = heartbeat.leases();
      const areOver = leases.every(({ abortReason }) => abortReason !== undefined);
      const left = end - clock.monotonic();
      if (left <= 0 || (areOver && this.#running.count <= leases.length)) return;
      // A lease may be lost at any time.
      await noLongerThan(Math.min(left, CHECK_EVERY), this.#running.idle(), clock);
    }
  }
}

/** Runs a nested call under the lease of its caller. */
async function runInside<T>(
  outer: LeasedScope,
  call: LockCall,
  job: (lock: Lock) => T | PromiseLike<T>,
): Promise<RunResult<T>> {
  const value = await withinScope(outer, job);
  refuseUndone(value, call);
  return { ran: true, value };
}

/** Takes a lock inside a job that holds it: the handle shares the lease, which ends with that job. */
function acquireInside({ lease }: LeasedScope): LockHandle {
  const handle = new LockHandle(lease);
  lease.inner += 1;
  handle.finished = handle.released.then(() => void (lease.inner -= 1));
  return handle;
}

/** How long a shutdown waits for jobs whose signal has aborted, and how often it looks whether there are others, ms. */
const ABORT_GRACE = 1_000;
const CHECK_EVERY = 100;

const unfinished = ({ ref: { name: lock, job } }: Lease): UnfinishedRun =>
  job === undefined ? { lock } : { lock, job };
