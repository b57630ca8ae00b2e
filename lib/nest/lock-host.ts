import { Inject, Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerLockConfigError, StoreUnavailableError } from '../base/errors.js';
import { textOf } from './log/log-phrases.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { Elections } from '../lock/leader/elections.js';
import { currentLock, following, type Lock, type LockHandle } from '../lock/current-lock.js';
import type { LockCall, RunResult } from '../lock/lock-call.js';
import { Spreader } from '../schedule/spread.js';
import { LockRunner } from '../lock/lock-runner.js';
import { Recorder } from '../lock/recorder.js';
import { type Checked, type ModuleSettings, ofModule } from './options/check.js';
import type { QueueJob } from '../lock/drain.js';
import { Queues } from '../lock/queue/queues.js';
import { ping, PING_NAME, type PingResult } from '../lock/access/ping.js';
import { TimeLimits } from '../lock/access/time-limits.js';
import type { HistoryStore } from '../contract/history-store.js';
import type { LockStore } from '../contract/lock-store.js';
import type { BoundJob, KnownName } from './bound-job.js';
import { LOCK_STORE, MODULE_SETTINGS } from './module-definition.js';

const followingAll =
  (call: BoundJob['call']): BoundJob['call'] =>
  (args) =>
    following(() => call(args), currentLock());

/** How long the start waits for a store that does not answer, ms: a frozen server must not keep an instance from starting. */
const START_LIMIT = 10_000;
/** How long the start waits for the store's history, and for its warnings, ms: no lock needs these. */
const HISTORY_LIMIT = 2_000;
/** How long the shutdown waits for a store that does not close, ms: the other parts of the application close after it. */
const CLOSE_LIMIT = 5_000;

/** The store, the locks and the elections of an application, from its start to the end of its shutdown. */
@Injectable()
export class LockHost implements OnModuleDestroy, OnApplicationShutdown {
  readonly settings: ModuleSettings;
  /** The problems of the module's options. */
  readonly problems: readonly string[];
  readonly elections: Elections;
  readonly queues: Queues;
  /** Calls go by {@link execute} and {@link acquire}, which open the store first. */
  readonly runner: LockRunner;
  readonly spreader: Spreader;
  /** What is wrong with the store, for the message at the start. */
  readonly warnings: string[] = [];
  /** The record of who ran what, if the store and the options allow it. */
  readonly history: HistoryStore | undefined;
  /** Whether the store remembers runs, as far as is known. */
  remembers = true;
  /** Whether the store keeps calls that people make elsewhere. */
  takesCalls = false;
  #started: Promise<void> | undefined;
  #ready = false;
  #closed: Promise<void> | undefined;
  #pingName = PING_NAME;

  constructor(
    @Inject(MODULE_SETTINGS) { settings, problems }: Checked<ModuleSettings>,
    @Inject(LOCK_STORE) readonly store: LockStore,
    { emit, hears }: SchedulerLockEvents,
  ) {
    const { instanceId, clock, storeTimeout, shutdownTimeout: patience, insight } = settings;
    this.settings = settings;
    this.problems = problems;
    this.runner = new LockRunner(store, instanceId, clock, emit, storeTimeout, hears);
    this.spreader = new Spreader(clock, instanceId);
    if (insight !== undefined && store.keeps.histories) {
      const { keep: count, age, error } = insight;
      this.history = store.history;
      this.runner.remember(new Recorder(this.history, { kept: { count, age }, error }));
    }
    this.queues = new Queues(store, this.runner, instanceId, clock, emit);
    this.elections = new Elections(
      { patience, clock, emit },
      (call) => this.acquire(call),
      () => this.#ready && this.runner.openHints(),
    );
  }

  /** One call through a lock, with checked settings. */
  execute<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    if (!this.#ready) return this.start().then(() => this.execute(call, job));
    if (this.settings.leader === undefined) return this.runner.run(call, job);
    return this.runner.run(call, (lock) => following(job, lock));
  }

  /** Takes a lock without a job around it. @throws LockNotAcquiredError if it cannot be taken now */
  async acquire(call: LockCall): Promise<LockHandle> {
    if (!this.#ready) await this.start();
    return this.runner.acquire(call);
  }

  /**
   * Opens the queues of the store. A store that cannot be reached does not stop the start. If it can keep none, people cannot run jobs from
   * elsewhere.
   *
   * @param isNeeded whether calls wait or are queued, or instances elect a leader: a store keeps lines where it keeps queues
   * @throws SchedulerLockConfigError if they are needed, and the store can keep none
   */
  async startQueues(isNeeded: boolean): Promise<void> {
    const { queuedCalls, keeps } = this.store;
    this.takesCalls = this.history !== undefined && this.remembers && keeps.queuedCalls;
    if (!isNeeded && !this.takesCalls) return;
    try {
      const opened = Promise.resolve(queuedCalls.init?.());
      await (isNeeded ? opened : this.#within(opened, HISTORY_LIMIT));
    } catch (error) {
      const isAway = error instanceof StoreUnavailableError;
      if (isAway && error.refused !== true) return;
      this.takesCalls = false;
      if (isAway || !isNeeded) return;
      await this.#close().catch(() => undefined);
      throw error;
    }
  }

  /** Queued calls of a job can run here, if it queues calls, or if people may ask for it. @param isGone whether it was deleted since */
  addQueueJob(bound: BoundJob, isGone: QueueJob['isGone'] = () => false): void {
    const { job, name, settings, queue, call } = bound;
    const runsHere = queue === undefined ? this.takesCallsOf(bound) : settings.enabled;
    if (!runsHere) return;
    const lock = typeof name === 'string' ? name : undefined;
    const run = this.settings.leader === undefined ? call : followingAll(call);
    this.queues.add({ job, lock, settings, run, isGone });
  }

  /** Whether people can run a job here from elsewhere: they read the end of its run in the history. */
  takesCallsOf({ name, settings: { enabled, history } }: BoundJob): boolean {
    return this.takesCalls && enabled && typeof name === 'string' && history === true;
  }

  /** The store has answered a call that is for no lock. @param took ms: by a slow answer nothing can run */
  heard(took: number): void {
    if (took <= this.settings.storeTimeout) this.runner.heard();
    this.queues.answered();
  }

  ping(): Promise<PingResult> {
    const { clock, storeTimeout: limit } = this.settings;
    return ping(this.store, { opened: this.start(), name: this.#pingName, clock, limit });
  }

  /** Opens the store, once. One that is away does not stop the start. @throws SchedulerLockConfigError for a connection that cannot work */
  start(): Promise<void> {
    return (this.#started ??= this.#open());
  }

  /** Needs an opened store: some look at their data first. @throws SchedulerLockConfigError with all names that the store cannot keep */
  async checkNames(names: readonly KnownName[]): Promise<void> {
    const problems = names.flatMap(([where, name]) => {
      const problem = this.#nameProblem(name);
      return problem === undefined ? [] : [`${where}: name: ${problem}`];
    });
    const all = [PING_NAME, ...names.map(([, name]) => name)];
    // A `key` function may support only the names of this application.
    this.#pingName = all.find((name) => this.#nameProblem(name) === undefined) ?? PING_NAME;
    if (problems.length === 0) return;
    // An error of closing matters less than the names.
    await this.#close().catch(() => undefined);
    throw new SchedulerLockConfigError(problems);
  }

  /**
   * Waits for the leases that the elections release, but not for the elections: a hook of theirs may never end. Then for the records of runs.
   */
  async onModuleDestroy(): Promise<void> {
    void this.elections.stop();
    this.queues.stop();
    const ended = this.runner.shutdown(this.settings.shutdownTimeout);
    // From now on each call is refused.
    this.spreader.stop();
    await ended;
    // The application may close its own client, which the store uses, before it lets the store close.
    const records = this.store.history.flush?.();
    if (records !== undefined) await this.#within(records, HISTORY_LIMIT).catch(() => undefined);
  }

  /** Closes the store last: other parts of the application may still have used locks while they were closing. */
  async onApplicationShutdown(): Promise<void> {
    await this.#close();
  }

  async #open(): Promise<void> {
    if (this.problems.length > 0) throw new SchedulerLockConfigError(ofModule(this.problems));
    try {
      if (this.store.init) await this.#within(this.store.init(), START_LIMIT);
      await Promise.all([this.#openHistory(), this.#passOnWarning()]);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) {
        await this.#close();
        throw error;
      }
      this.runner.startFailed(error);
    }
    this.#ready = true;
  }

  async #passOnWarning(): Promise<void> {
    if (this.store.warning === undefined) return;
    const warning = await this.#within(this.store.warning(), HISTORY_LIMIT).catch(() => undefined);
    if (warning !== undefined) this.warnings.push(warning);
  }

  /** A store that cannot remember runs does not stop the start: no lock depends on its history. */
  async #openHistory(): Promise<void> {
    const { history } = this.store;
    if (this.history === undefined || history.init === undefined) return;
    // A store that is away, or slow, may answer later.
    const problem = await this.#within(history.init(), HISTORY_LIMIT).catch((error: unknown) =>
      error instanceof StoreUnavailableError && error.refused !== true ? undefined : textOf(error),
    );
    if (problem === undefined) return;
    this.runner.remember(undefined);
    this.remembers = false;
    this.warnings.push(
      `Runs are not remembered, and jobs that do not run are not noticed (\`insight: false\` turns this off): ${problem}`,
    );
  }

  #close(): Promise<void> {
    return (this.#closed ??= this.#closeStore());
  }

  async #closeStore(): Promise<void> {
    // Another application may use the same store: only one that has opened it closes it.
    if (this.store.close === undefined || (this.store.init !== undefined && this.#started === undefined))
      return;
    try {
      await this.#within(Promise.resolve(this.store.close()), CLOSE_LIMIT);
    } catch (error) {
      // A store that is away need not be waited for.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  /** Waits for the store, `limit` milliseconds at most, also where nothing else keeps the process alive. */
  async #within<T>(work: Promise<T>, limit: number): Promise<T> {
    const limits = new TimeLimits(this.settings.clock);
    limits.keepAlive();
    try {
      return await limits.within(work, limit);
    } finally {
      limits.stop();
    }
  }

  /** Why the store cannot keep a name that is valid. */
  #nameProblem(name: string): string | undefined {
    const problem = this.store.nameProblem?.(name);
    return problem === undefined ? undefined : `"${name}" is a name that the store cannot keep: ${problem}`;
  }
}
