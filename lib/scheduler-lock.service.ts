import { Inject, Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from './clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from './errors.js';
import type { LeaderGrant } from './leader/leader-lease.js';
import type { AcquiredLock } from './lease/acquired-lock.js';
import { following, type Lock } from './lease/current-lock.js';
import type { LockCall, LockSettings, RunResult } from './lease/lock-call.js';
import { LockRunner } from './lease/lock-runner.js';
import { TimeLimits } from './lease/time-limits.js';
import { displayName, nameProblem } from './lock-name.js';
import { SchedulerLockEvents } from './scheduler-lock.events.js';
import { unkeptNames } from './scheduler-lock.kept-names.js';
import { OPTION_NAMES, unknownOptions } from './scheduler-lock.option-names.js';
import type { RunOptions } from './scheduler-lock.options.js';
import {
  checkLockOptions,
  type Checked,
  type JobSettings,
  type ModuleSettings,
  ofModule,
} from './scheduler-lock.options-check.js';
import { LOCK_STORE, MODULE_SETTINGS } from './scheduler-lock.tokens.js';
import type { LockInfo, LockStore } from './stores/lock-store.js';

/** How long the start waits for a store that does not answer, ms: a frozen server must not keep an instance down. */
const START_LIMIT = 10_000;

/** Locks without a decorator, and the lifecycle of all locks of an application. */
@Injectable()
export class SchedulerLockService implements OnModuleDestroy, OnApplicationShutdown {
  /** Names this process in the store, in events and in logs. */
  readonly instanceId: string;

  readonly #runner: LockRunner;
  readonly #settings: ModuleSettings;
  readonly #problems: readonly string[];
  readonly #defaults: JobSettings;
  #started: Promise<void> | undefined;
  #ready = false;
  #closed: Promise<void> | undefined;
  readonly #beforeShutdown: (() => Promise<void>)[] = [];

  constructor(
    @Inject(MODULE_SETTINGS) checked: Checked<ModuleSettings>,
    @Inject(LOCK_STORE) private readonly store: LockStore,
    events: SchedulerLockEvents,
  ) {
    this.#settings = checked.settings;
    this.#problems = checked.problems;
    this.#defaults = checkLockOptions({}, checked.settings).settings;
    this.instanceId = checked.settings.instanceId;
    this.#runner = new LockRunner(
      store,
      this.instanceId,
      systemClock,
      events.emit,
      checked.settings.storeTimeout,
      events.hears,
    );
  }

  /**
   * Runs `job` if the lock can be taken now, keeps the lease while it runs, and gives it back.
   *
   * Inside a job that holds the same lock it runs at once, under that lease.
   *
   * @param name name of the lock
   * @returns `{ ran: true, value }`, or `{ ran: false, reason, holder? }` if it did not run
   * @throws what `job` throws; `SchedulerLockConfigError` for bad options; `StoreUnavailableError` with
   *   `onStoreError: 'throw'`
   */
  run<T>(name: string, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>>;
  run<T>(name: string, options: RunOptions, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>>;
  run<T>(
    name: string,
    ...rest: [(lock: Lock) => T | PromiseLike<T>] | [RunOptions, (lock: Lock) => T | PromiseLike<T>]
  ): Promise<RunResult<T>> {
    const [options, job] = rest.length === 1 ? [undefined, rest[0]] : rest;
    try {
      return this.execute(this.#call(name, options), job);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /**
   * Takes a lock without a job around it:
   *
   * ```ts
   * await using lock = await locks.acquire('import', { ttl: '5m' });
   * ```
   *
   * @returns the lock, kept until it is released or its scope ends
   * @throws LockNotAcquiredError if it cannot be taken now, so that no code runs unlocked by a forgotten check
   * @throws SchedulerLockConfigError for bad options
   */
  async acquire(name: string, options?: RunOptions): Promise<AcquiredLock> {
    const call = this.#call(name, options);
    if (!this.#ready) await this.start();
    return this.#runner.acquire(call);
  }

  /**
   * Every lock that the store knows, for people to look at: who has it, and what is remembered of its jobs. Not cheap: Redis is
   * searched for its keys, a database reads the whole table.
   *
   * @throws SchedulerLockConfigError if the store cannot tell
   * @throws StoreUnavailableError if it does not answer
   */
  async inspect(): Promise<LockInfo[]> {
    if (!this.#ready) await this.start();
    const { inspect } = this.store;
    if (inspect === undefined)
      throw new SchedulerLockConfigError([
        'store: it has no inspect(). Add one to your LockStore, or use one of the stores that come along.',
      ]);
    return inspect.call(this.store);
  }

  /**
   * One call through a lock, with checked settings.
   *
   * @internal
   */
  execute<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    if (!this.#ready) return this.start().then(() => this.execute(call, job));
    if (this.#settings.leader === undefined) return this.#runner.run(call, job);
    return this.#runner.run(call, (lock) => following(() => job(lock)));
  }

  /**
   * One attempt to take the lock of an election.
   *
   * @internal
   * @throws LockNotAcquiredError if somebody else leads
   */
  async campaign(name: string, settings: LockSettings): Promise<LeaderGrant> {
    if (!this.#ready) await this.start();
    return this.#runner.acquire({ name, job: undefined, settings, scheduled: false, campaign: true });
  }

  /**
   * Has something done when the shutdown begins. It is not waited for, but by the leases that it gives back.
   *
   * @internal
   */
  beforeShutdown(callback: () => Promise<void>): void {
    this.#beforeShutdown.push(callback);
  }

  /**
   * Opens the store, once. A store that cannot be reached is an outage and does not stop the start.
   *
   * @internal
   * @throws SchedulerLockConfigError for options or a connection that cannot work
   */
  start(): Promise<void> {
    return (this.#started ??= this.#open());
  }

  /** What the log calls the store. @internal */
  get storeLabel(): string {
    const { label, constructor: { name } = Object } = this.store;
    return label ?? (name === '' || name === Object.name ? 'a store without a name' : name);
  }

  /**
   * Stops the start because of names that the store cannot keep. It has been opened, as it may have had to look.
   *
   * @internal
   * @param names where each was given, and the name
   * @throws SchedulerLockConfigError with all of them
   */
  async checkNames(names: Iterable<readonly [place: string, name: string]>): Promise<void> {
    const problems = unkeptNames(this.store, names);
    if (problems.length === 0) return;
    // What it says of its end matters less than the names.
    await this.#close().catch(() => undefined);
    throw new SchedulerLockConfigError(problems);
  }

  async onModuleDestroy(): Promise<void> {
    for (const callback of this.#beforeShutdown) void callback();
    await this.#runner.shutdown(this.#settings.shutdownTimeout);
  }

  /** Last: other parts of the application may still have used locks while it was closing. */
  async onApplicationShutdown(): Promise<void> {
    await this.#close();
  }

  async #open(): Promise<void> {
    if (this.#problems.length > 0) throw new SchedulerLockConfigError(ofModule(this.#problems));
    const limits = new TimeLimits(systemClock);
    try {
      if (this.store.init) await limits.within(this.store.init(), START_LIMIT);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) {
        await this.#close();
        throw error;
      }
      this.#runner.startFailed(error);
    } finally {
      limits.stop();
    }
    this.#ready = true;
  }

  #close(): Promise<void> {
    return (this.#closed ??= Promise.resolve(this.store.close?.()));
  }

  #call(name: string, options: RunOptions | undefined): LockCall {
    if (options === undefined) return { name, job: undefined, settings: this.#defaults, scheduled: false };
    const { job, tick, ...given } = options;
    const { settings, problems } = checkLockOptions(given, this.#settings);
    const jobProblem = job === undefined ? undefined : nameProblem(job);
    const all = [...unknownOptions(options, OPTION_NAMES.run), ...problems];
    if (jobProblem !== undefined) all.push(`job: ${displayName(job)} is not valid: ${jobProblem}.`);
    if (tick !== undefined && !(Number.isSafeInteger(tick) && tick >= 0)) {
      all.push(`tick: ${String(tick)} is no time in epoch milliseconds.`);
    }
    if (all.length > 0)
      throw new SchedulerLockConfigError(all.map((problem) => `lock ${JSON.stringify(name)}: ${problem}`));
    const start = tick === undefined ? undefined : { tick, maxClockSkew: settings.maxClockSkew };
    return { name, job, settings, scheduled: false, start };
  }
}
