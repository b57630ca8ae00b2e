import { Inject, Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import type { Clock } from '../clock.js';
import type { Duration } from '../duration.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../errors.js';
import type { LeaderGrant } from '../leader/leader-lease.js';
import type { AcquiredLock } from '../lease/acquired-lock.js';
import { following, type Lock } from '../lease/current-lock.js';
import type { LockCall, LockSettings, RunResult } from '../lease/lock-call.js';
import { LockRunner } from '../lease/lock-runner.js';
import { ping, PING_NAME, type PingResult } from '../store-access/ping.js';
import { storeLabel } from '../store-access/store-label.js';
import { TimeLimits } from '../store-access/time-limits.js';
import { callByHand, runArguments } from './calls-by-hand.js';
import { SchedulerLockEvents } from '../events/scheduler-lock.events.js';
import { type KnownName, unstorableNames } from './unstorable-names.js';
import type { CronJobOptions, DynamicJob, IntervalJobOptions, JobMaker } from '../options/job-options.js';
import type { RunOptions } from '../options/options.js';
import type { ScheduledCronJob } from '../scheduler/scheduler-parts.js';
import {
  checkLockOptions,
  type Checked,
  type JobSettings,
  type ModuleSettings,
  ofModule,
} from '../options/check.js';
import { LOCK_STORE, MODULE_SETTINGS } from './tokens.js';
import type { LockInfo, LockStore } from '../stores/lock-store.js';

/** How long the start waits for a store that does not answer, ms: a frozen server must not keep an instance from starting. */
const START_LIMIT = 10_000;
/** How long the shutdown waits for a store that does not close, ms: the other parts of the application close after it. */
const CLOSE_LIMIT = 5_000;

/** Locks without a decorator, and the lifecycle of all locks of an application. */
@Injectable()
export class SchedulerLockService implements OnModuleDestroy, OnApplicationShutdown {
  /** Names this process in the store, in events and in logs. */
  readonly instanceId: string;

  /** The clock of all parts of the library. @internal */
  readonly clock: Clock;
  readonly #runner: LockRunner;
  readonly #settings: ModuleSettings;
  readonly #problems: readonly string[];
  readonly #defaults: JobSettings;
  #started: Promise<void> | undefined;
  #ready = false;
  #closed: Promise<void> | undefined;
  #pingName = PING_NAME;
  readonly #beforeShutdown: (() => Promise<void>)[] = [];
  #maker: JobMaker | undefined;

  constructor(
    @Inject(MODULE_SETTINGS) checked: Checked<ModuleSettings>,
    @Inject(LOCK_STORE) private readonly store: LockStore,
    events: SchedulerLockEvents,
  ) {
    this.#settings = checked.settings;
    this.#problems = checked.problems;
    this.#defaults = checkLockOptions({}, checked.settings).settings;
    this.instanceId = checked.settings.instanceId;
    this.clock = checked.settings.clock;
    this.#runner = new LockRunner(
      store,
      this.instanceId,
      this.clock,
      events.emit,
      checked.settings.storeTimeout,
      events.hears,
    );
  }

  /**
   * Runs `job` if the lock can be taken now, keeps the lease while the job runs, and releases it.
   *
   * Inside a job that holds the same lock, `job` runs at once, under that lease.
   *
   * @param name name of the lock
   * @returns `{ ran: true, value }`, or `{ ran: false, reason, holder? }` if it did not run
   * @throws the error of `job`; `SchedulerLockConfigError` for bad options; `StoreUnavailableError` with `onStoreError: 'throw'`
   */
  run<T>(name: string, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>>;
  run<T>(name: string, options: RunOptions, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>>;
  run<T>(
    name: string,
    ...rest: [(lock: Lock) => T | PromiseLike<T>] | [RunOptions, (lock: Lock) => T | PromiseLike<T>]
  ): Promise<RunResult<T>> {
    try {
      const { options, job } = runArguments<(lock: Lock) => T | PromiseLike<T>>(name, rest);
      return this.execute(this.#call(name, options), job);
    } catch (error) {
      return Promise.reject(error);
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
   * @throws LockNotAcquiredError if the lock cannot be taken now, so that no code runs unlocked because of a forgotten check
   * @throws SchedulerLockConfigError for bad options
   */
  async acquire(name: string, options?: RunOptions): Promise<AcquiredLock> {
    const call = this.#call(name, options);
    if (!this.#ready) await this.start();
    return this.#runner.acquire(call);
  }

  /**
   * Makes a cron job, registers it in `SchedulerRegistry` and starts it. It behaves like a method with `@Cron()` and
   * `@SchedulerLock()`: each tick runs once over the fleet; `rerun`, `catchUp` and `leader` work. Make it on every instance, in
   * `onModuleInit()` or later.
   *
   * To end the job, call its `stop()`, or `deleteCronJob(name)` of the registry: ticks that it then misses are not run. Its
   * `fireOnTick()` is a call by hand (skipped on an instance that does not lead).
   *
   * @param name the name in the registry, of the job and of its lock
   * @param expression a cron expression, or a single date
   * @param job the function to run; receives its lock
   * @throws SchedulerLockConfigError for bad options, for a name that the registry already has, for the identity of another job,
   *   and without a `ScheduleModule`
   */
  cron(name: string, expression: string | Date, job: DynamicJob): ScheduledCronJob;
  cron(
    name: string,
    expression: string | Date,
    options: CronJobOptions | undefined,
    job: DynamicJob,
  ): ScheduledCronJob;
  cron(
    name: string,
    expression: string | Date,
    ...rest: [DynamicJob] | [CronJobOptions | undefined, DynamicJob]
  ): ScheduledCronJob {
    const [options = {}, job] = rest.length === 1 ? [undefined, rest[0]] : rest;
    return this.#jobs('cron').cron(name, expression, options, job);
  }

  /**
   * Makes an interval, registers it in `SchedulerRegistry` and starts it. It behaves like a method with `@Interval()` and
   * `@SchedulerLock()`: one run per interval over the whole fleet. To end it, call `deleteInterval(name)` of the registry.
   *
   * @param name the name in the registry, of the job and of its lock
   * @param every time between two runs
   * @param job the function to run; receives its lock
   * @throws SchedulerLockConfigError as `cron()`
   */
  interval(name: string, every: Duration, job: DynamicJob): void;
  interval(name: string, every: Duration, options: IntervalJobOptions | undefined, job: DynamicJob): void;
  interval(
    name: string,
    every: Duration,
    ...rest: [DynamicJob] | [IntervalJobOptions | undefined, DynamicJob]
  ): void {
    const [options = {}, job] = rest.length === 1 ? [undefined, rest[0]] : rest;
    this.#jobs('interval').interval(name, every, options, job);
  }

  /**
   * Every lock that the store knows, for people to look at: its holder, and the last starts of its jobs. Not cheap: searches all
   * keys of a Redis, or reads the whole table of a database.
   *
   * @throws SchedulerLockConfigError if the store has no `inspect()`, or cannot read the names
   * @throws StoreUnavailableError if the store does not answer
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
   * Asks the store for an answer, and changes nothing. For health checks. While the store is away, jobs are skipped; restarting
   * this process would not help.
   *
   * @returns `{ ok: true, latency, store }`, or `{ ok: false, error, store }` if the store fails or does not answer within
   *   `storeTimeout`. Never rejects
   */
  ping(): Promise<PingResult> {
    const opened = this.#ready ? Promise.resolve() : this.start();
    const limit = this.#settings.storeTimeout;
    return ping(this.store, { opened, name: this.#pingName, clock: this.clock, limit });
  }

  /**
   * One call through a lock, with checked settings.
   *
   * @internal
   */
  execute<T>(call: LockCall, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>> {
    if (!this.#ready) return this.start().then(() => this.execute(call, job));
    if (this.#settings.leader === undefined) return this.#runner.run(call, job);
    return this.#runner.run(call, (lock) => following(job, lock));
  }

  /** Reports a call that the scheduler did not make because the job still runs here. @internal */
  passedOver(call: LockCall): void {
    this.#runner.passedOver(call);
  }

  /**
   * One attempt to take the lock of an election.
   *
   * @internal
   * @throws LockNotAcquiredError if another instance leads
   */
  async campaign(name: string, settings: LockSettings): Promise<LeaderGrant> {
    if (!this.#ready) await this.start();
    return this.#runner.acquire({ name, job: undefined, settings, scheduled: false, campaign: true });
  }

  /** Sets the maker of dynamic jobs. It is not injected: it depends on parts that depend on this service. @internal */
  makeJobsWith(maker: JobMaker): void {
    this.#maker = maker;
  }

  /**
   * Registers a callback for the beginning of the shutdown. The shutdown does not await the callback itself, only the leases that
   * the callback releases.
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
    return storeLabel(this.store);
  }

  /**
   * Stops the start if the store cannot keep some names. Needs an opened store, as some have to look at their data first.
   *
   * @internal
   * @param names the names, each with the place where it was given
   * @throws SchedulerLockConfigError with all names that the store cannot keep
   */
  async checkNames(names: readonly KnownName[]): Promise<void> {
    const problems = unstorableNames(this.store, names);
    const all = [PING_NAME, ...names.map(([, name]) => name)];
    // A `key` function may support only the names of this application.
    this.#pingName = all.find((name) => unstorableNames(this.store, [['', name]]).length === 0) ?? PING_NAME;
    if (problems.length === 0) return;
    // An error of closing matters less than the names.
    await this.#close().catch(() => undefined);
    throw new SchedulerLockConfigError(problems);
  }

  async onModuleDestroy(): Promise<void> {
    for (const callback of this.#beforeShutdown) void callback();
    await this.#runner.shutdown(this.#settings.shutdownTimeout);
  }

  /** Closes the store last: other parts of the application may still have used locks while they were closing. */
  async onApplicationShutdown(): Promise<void> {
    await this.#close();
  }

  #jobs(method: keyof JobMaker): JobMaker {
    if (this.#maker !== undefined) return this.#maker;
    throw new SchedulerLockConfigError([
      `${method}(): the application is not complete yet. Call it in onModuleInit() or later, not in a constructor.`,
    ]);
  }

  async #open(): Promise<void> {
    if (this.#problems.length > 0) throw new SchedulerLockConfigError(ofModule(this.#problems));
    const limits = new TimeLimits(this.clock);
    limits.keepAlive();
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
    return (this.#closed ??= this.#closeStore());
  }

  async #closeStore(): Promise<void> {
    // Another application may use the same store: only one that has opened it closes it.
    if (this.store.close === undefined || (this.store.init !== undefined && this.#started === undefined))
      return;
    const limits = new TimeLimits(this.clock);
    limits.keepAlive();
    try {
      await limits.within(Promise.resolve(this.store.close()), CLOSE_LIMIT);
    } catch (error) {
      // A store that is away need not be waited for.
      if (!(error instanceof StoreUnavailableError)) throw error;
    } finally {
      limits.stop();
    }
  }

  #call(name: string, options: RunOptions | undefined): LockCall {
    if (options === undefined) return { name, job: undefined, settings: this.#defaults, scheduled: false };
    return callByHand(name, options, this.#settings);
  }
}
