import { Injectable } from '@nestjs/common';
import type { Duration } from '../base/duration.js';
import { SchedulerLockConfigError } from '../base/errors.js';
import type { AcquiredLock, Lock } from '../lock/current-lock.js';
import type { Around } from '../lock/job.js';
import type { LockCall, RunResult } from '../lock/lock-call.js';
import { displayName } from '../base/lock-name.js';
import { checkLockOptions, type JobSettings, type ModuleSettings } from './options/check.js';
import type { CronJobOptions, DynamicJob, IntervalJobOptions } from './options/job-options.js';
import type { RunOptions } from './options/options.js';
import { readOption, unknownOptions } from './options/table.js';
import { invalidNames } from './options/values.js';
import type { ScheduledCronJob } from '../schedule/scheduler-parts.js';
import type { PingResult } from '../lock/access/ping.js';
import { type LockInfo, withoutToken } from '../contract/lock-info.js';
import { DynamicJobs } from './dynamic-jobs.js';
import { show } from '../base/wording.js';
import { LockHost } from './lock-host.js';

/** Locks without a decorator, and jobs that are made at run time. */
@Injectable()
export class SchedulerLockService {
  /** Names this process in the store, in events and in logs. */
  readonly instanceId: string;

  readonly #host: LockHost;
  readonly #jobs: DynamicJobs;
  readonly #defaults: JobSettings;

  /** @internal */
  constructor(host: LockHost, jobs: DynamicJobs) {
    this.instanceId = host.settings.instanceId;
    this.#host = host;
    this.#jobs = jobs;
    this.#defaults = checkLockOptions({}, host.settings).settings;
  }

  /**
   * Runs `job` if the lock can be taken now, keeps the lease while the job runs, and releases it.
   *
   * Inside a job that holds the same lock, `job` runs at once, under that lease.
   *
   * @param name name of the lock
   * @returns `{ ran: true, value }`, or `{ ran: false, reason, holder? }` if it did not run
   * @throws the error of `job`; `SchedulerLockConfigError` for bad options
   */
  run<T>(name: string, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>>;
  run<T>(name: string, options: RunOptions, job: (lock: Lock) => T | PromiseLike<T>): Promise<RunResult<T>>;
  run<T>(
    name: string,
    ...rest: [(lock: Lock) => T | PromiseLike<T>] | [RunOptions, (lock: Lock) => T | PromiseLike<T>]
  ): Promise<RunResult<T>> {
    try {
      const { options, job } = runArguments<(lock: Lock) => T | PromiseLike<T>>(name, rest);
      return this.#host.execute(this.#call(name, options), job);
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
    return this.#host.acquire(this.#call(name, options));
  }

  /**
   * Wraps something around each run of this application: a span, a context, a forked entity manager. It is called inside the context
   * of the run's lock, in the order added, for decorated methods, `run()`, `cron()`, `interval()` and queued calls; not for `acquire()`,
   * and not again for a call inside a run that holds the same lock.
   *
   * ```ts
   * locks.around((lock, proceed) => tracer.startActiveSpan(`run ${lock.job ?? lock.name}`, (span) => proceed().finally(() => span.end())));
   * ```
   *
   * @param wrap has to call `proceed` once, and to return its promise. The result of the run is that of the job; if the wrapper itself
   *   fails, so does the run
   * @returns a function that removes the wrapper
   * @throws SchedulerLockConfigError if `wrap` is no function
   */
  around(wrap: Around): () => void {
    if (typeof wrap !== 'function')
      throw new SchedulerLockConfigError([
        `around(): ${show(wrap)} is no function. Give (lock, proceed) => proceed().`,
      ]);
    return this.#host.runner.around(wrap);
  }

  /**
   * Makes a cron job, registers it in `SchedulerRegistry` and starts it. It behaves like a method with `@Cron()` and
   * `@SchedulerLock()`: each tick runs once over the fleet; `rerun`, `catchUp` and `leader` work. Make it on every instance, in
   * `onModuleInit()` or later.
   *
   * To end the job, call its `stop()`, or `deleteCronJob(name)` of the registry: ticks that it then misses are not run. Its
   * `fireOnTick()` is a fire of its schedule: it starts the newest tick if nobody has.
   *
   * @param name the name in the registry, of the job and of its lock
   * @param expression a cron expression, or a single date
   * @param job the function to run; receives its lock
   * @throws SchedulerLockConfigError for bad options, for a name that the registry or another job already has,
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
    return this.#jobs.cron(name, expression, options, job);
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
    this.#jobs.interval(name, every, options, job);
  }

  /**
   * The locks that the store knows, for people to look at: holder, last starts of the jobs, queued calls, and the store's time.
   *
   * @param names those to look at, at the cost of a question for each; all if absent, which is not cheap: it searches all keys of a
   *   Redis, or reads the whole table of a database
   * @throws SchedulerLockConfigError if the store cannot read the names
   * @throws StoreUnavailableError if the store does not answer
   */
  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const { store } = this.#host;
    await this.#host.start();
    return (await store.inspect(names)).map(withoutToken);
  }

  /**
   * Puts the dead letters of a lock back to their places (`onHeld: 'queue'`): they run as if they had never been delivered.
   *
   * @param name name of the lock
   * @returns how many
   * @throws SchedulerLockConfigError if the store keeps no queued calls
   * @throws StoreUnavailableError if the store does not answer
   */
  async redeliver(name: string): Promise<number> {
    await this.#host.start();
    return this.#host.queues.redeliver(name);
  }

  /**
   * Asks the store for an answer, and changes nothing. For health checks. While the store is away, jobs are skipped; restarting
   * this process would not help.
   *
   * @returns `{ ok: true, latency, store }`, or `{ ok: false, error, store }` if the store fails or does not answer within
   *   `storeTimeout`. Never rejects
   */
  ping(): Promise<PingResult> {
    return this.#host.ping();
  }

  #call(name: string, options: RunOptions | undefined): LockCall {
    if (options === undefined) return { kind: 'by-hand', name, job: undefined, settings: this.#defaults };
    return callByHand(name, options, this.#host.settings);
  }
}

/** The options and the function of `run()`. @throws SchedulerLockConfigError if there is no function, or not in its place */
function runArguments<J>(name: string, rest: readonly unknown[]): { options?: RunOptions; job: J } {
  const [options, job] = rest.length < 2 ? [undefined, rest[0]] : rest;
  if (typeof job === 'function') return { options: options as RunOptions, job: job as J };
  throw new SchedulerLockConfigError([
    `run(${quoted(name)}): there is no function to run, but ${show(job)}. Call run(name, job) or run(name, options, job). Nothing was run.`,
  ]);
}

/** One call by hand, with checked settings. @throws SchedulerLockConfigError for bad options */
function callByHand(name: string, options: RunOptions, module: ModuleSettings): LockCall {
  if (typeof options !== 'object' || options === null) {
    throw new SchedulerLockConfigError([
      `lock ${quoted(name)}: ${show(options)} is given where its options go, such as { ttl: '10m' }.`,
    ]);
  }
  const { job } = options;
  const { settings, problems } = checkLockOptions(options, module);
  const all = [...unknownOptions(options, 'run'), ...problems];
  if (job !== undefined) all.push(...invalidNames({ job }));
  const tick = readOption('tick', options.tick, all);
  const signal = readOption('signal', options.signal, all);
  if (all.length > 0)
    throw new SchedulerLockConfigError(all.map((problem) => `lock ${quoted(name)}: ${problem}`));
  const start = tick === undefined ? undefined : { tick };
  return { kind: 'by-hand', name, job, settings, start, signal };
}

const quoted = (name: unknown): string =>
  typeof name === 'string' ? JSON.stringify(name) : displayName(name);
