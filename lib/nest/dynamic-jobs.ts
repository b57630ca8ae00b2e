import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { Duration } from '../base/duration.js';
import { SchedulerLockConfigError } from '../base/errors.js';
import type { JobStart } from '../base/job-start.js';
import { displayName } from '../base/lock-name.js';
import { show, unknownNames } from '../base/wording.js';
import { currentLock, outsideOfLocks } from '../lock/current-lock.js';
import { stateOf } from '../schedule/cron-job-state.js';
import { JobSchedule } from '../schedule/job-schedule.js';
import type { ScheduledCall } from '../schedule/scheduled-call.js';
import {
  type CronJobLike,
  type CronTimeLike,
  intervalOf,
  type JobOrchestrator,
  orchestratorsAmong,
  overlay,
  type ScheduledCronJob,
} from '../schedule/scheduler-parts.js';
import type { BoundJob } from './bound-job.js';
import { InsightHost } from './insight-host.js';
import { JobRegistry } from './job-registry.js';
import { LeaderJobs } from './leader-jobs.js';
import { logError } from './log/log-phrases.js';
import { checkLockOptions, withoutEffect } from './options/check.js';
import type { CronJobOptions, DynamicJob, IntervalJobOptions } from './options/job-options.js';
import { CRON_PARAMETERS, unknownOptions } from './options/table.js';
import { duration, invalidNames } from './options/values.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';

/** One call of `cron()` or `interval()`. */
interface Wanted {
  readonly kind: 'cron' | 'interval';
  readonly name: string;
  readonly options: CronJobOptions | IntervalJobOptions;
  readonly job: DynamicJob;
}

/**
 * Jobs that the application makes at run time. They work like decorated ones: the orchestrator of `@nestjs/schedule` makes them,
 * and the interceptor runs them. With several `ScheduleModule.forRoot()`, they belong to the first one.
 */
@Injectable()
export class DynamicJobs implements OnModuleDestroy {
  #orchestrator: JobOrchestrator | undefined;
  #started = false;
  #closed = false;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly interceptor: SchedulerLockInterceptor,
    private readonly insight: InsightHost,
    private readonly leader: LeaderJobs,
    readonly jobs: JobRegistry,
  ) {}

  /** The application has started: its jobs are watched, and a new one looks for missed ticks when it is made. */
  start(): void {
    this.#started = true;
    // When a constructor made its jobs, it was not known yet whether the store keeps queued calls.
    for (const bound of this.jobs.made) this.#takeQueued(bound);
    this.insight.start();
  }

  /** The scheduler empties the registry later. */
  onModuleDestroy(): void {
    this.#closed = true;
  }

  cron(name: string, expression: string | Date, options: CronJobOptions, job: DynamicJob): ScheduledCronJob {
    const { cron, timeZone } = Object(options) as CronJobOptions;
    const wanted: Wanted = { kind: 'cron', name, options, job };
    const { orchestrator, facts } = this.#check(wanted, parameterProblems(cron));
    const parameters = { ...cron, name, cronTime: expression, timeZone };
    const record = {
      options: parameters,
      target: () => this.leader.fire(name, undefined, () => this.#scheduled(bound)),
      // Absent while the job is being made: `cron` may fire it in that very moment.
      ref: undefined as CronJobLike | undefined,
    };
    const cronTimes = (): CronTimeLike[] => (record.ref === undefined ? [] : [record.ref.cronTime]);
    const bound: BoundJob = {
      ...facts,
      schedule: JobSchedule.ofCron(parameters, cronTimes, this.jobs.host.settings.clock.monotonic()),
      state: () => stateOf(orchestrator.schedulerRegistry, name, record.ref),
      ...this.#ways(() => bound, job),
    };
    try {
      overlay(orchestrator, { cronJobs: { [name]: record } }).mountCron();
    } catch (error) {
      throw problemsOf(wanted, [noCronJob(parameters, error)]);
    }
    this.#add(bound);
    return record.ref as NonNullable<typeof record.ref>;
  }

  interval(name: string, every: Duration, options: IntervalJobOptions, job: DynamicJob): void {
    const problems: string[] = [];
    const timeout = EVERY('every', every ?? Number.NaN, problems) ?? 1;
    const { orchestrator, facts } = this.#check({ kind: 'interval', name, options, job }, problems);
    const { schedulerRegistry: registry } = orchestrator;
    const record = {
      timeout,
      target: () => this.leader.fire(name, undefined, () => this.#scheduled(bound)),
      ref: undefined as unknown,
    };
    const bound: BoundJob = {
      ...facts,
      schedule: JobSchedule.ofInterval(timeout, this.jobs.host.settings.clock.monotonic()),
      state: () => (intervalOf(registry, name) === record.ref ? 'started' : 'gone'),
      ...this.#ways(() => bound, job),
    };
    overlay(orchestrator, { intervals: { [name]: record } }).mountIntervals();
    this.#add(bound);
  }

  /** How a job is started. @param bound made by then */
  #ways(bound: () => BoundJob, job: DynamicJob): Pick<BoundJob, 'fire' | 'call'> {
    return {
      // The code that fires the job again handles its errors.
      fire: (start) => this.leader.fire(bound().job, start.tick, () => this.#run(bound(), start)),
      call: () => job(currentLock()),
    };
  }

  #takeQueued(bound: BoundJob): void {
    this.jobs.host.addQueueJob(bound, () => bound.state() === 'gone');
  }

  #add(bound: BoundJob): void {
    this.jobs.add(bound);
    if (!this.#started) return;
    this.#takeQueued(bound);
    this.insight.added(bound);
    this.leader.catchUp(bound);
  }

  /**
   * Runs outside of the lock under which the job was made or started: another job may have done that. Logs the error of the job, as the
   * scheduler does for decorated ones: `cron` may not handle it.
   */
  #scheduled(bound: BoundJob): Promise<unknown> {
    const run = outsideOfLocks(() => this.#run(bound, undefined));
    return run.catch((error: unknown) => logError(() => error));
  }

  /** @param start of a tick that this library fires again */
  #run(bound: BoundJob, start: JobStart | undefined): Promise<unknown> {
    const call: ScheduledCall = { start, again: start !== undefined, over: false };
    return this.interceptor.intercept(bound, [], call, () => bound.call([]));
  }

  /** @throws SchedulerLockConfigError with every problem */
  #check(
    wanted: Wanted,
    more: readonly string[],
  ): { orchestrator: JobOrchestrator; facts: Pick<BoundJob, 'job' | 'name' | 'settings'> } {
    const { kind, name, options, job } = wanted;
    const given = Object(options) as CronJobOptions;
    const { lock = name } = given;
    const { settings, problems } = checkLockOptions(given, this.jobs.host.settings, lock);
    const facts = { job: name, name: lock, settings };
    const all = [...unknownOptions(given, kind), ...invalidNames({ name, lock })];
    if (typeof job !== 'function') all.push(`${show(job)} is no function. Give the job to run.`);
    all.push(...problems, ...(problems.length === 0 ? withoutEffect(given, settings) : []), ...more);
    all.push(...this.jobs.clashesOf(facts));
    if (this.#closed) all.push('the application is shutting down.');
    const orchestrator = (this.#orchestrator ??= orchestratorsAmong(this.discovery.getProviders())[0]);
    all.push(...(orchestrator === undefined ? [NO_SCHEDULER] : takenName(wanted, orchestrator)));
    if (all.length > 0 || orchestrator === undefined) throw problemsOf(wanted, all);
    return { orchestrator, facts };
  }
}

const NO_SCHEDULER =
  'nothing would fire it: no module imports ScheduleModule.forRoot() of @nestjs/schedule, or it is not complete yet. Make jobs in ' +
  'onModuleInit() or later, not in a constructor.';

/** The longest interval: Node's timers keep 24.8 days. */
const EVERY = duration({ most: 24 * 86_400_000 });

function parameterProblems(cron: CronJobOptions['cron']): string[] {
  if (cron === undefined) return [];
  if (typeof cron !== 'object' || cron === null)
    return [`cron: ${show(cron)} is no object. Give { disabled: true }, or the like.`];
  return unknownNames(cron, CRON_PARAMETERS).map((problem) => `cron.${problem}`);
}

/** Why a job cannot have this name in the scheduler; empty if it can. The name of a deleted job is free again. */
function takenName({ kind, name }: Wanted, orchestrator: JobOrchestrator): string[] {
  const { schedulerRegistry: registry } = orchestrator;
  const [what, isRegistered, records] =
    kind === 'cron'
      ? (['a cron job', registry.getCronJobs().has(name), orchestrator.cronJobs] as const)
      : (['an interval', intervalOf(registry, name) !== undefined, orchestrator.intervals] as const);
  // A decorated method has this name, and its job was not made yet.
  const isToBeMade = Object.hasOwn(records, name) && records[name]?.ref === undefined;
  return isRegistered || isToBeMade ? [`name: the registry has ${what} of this name already.`] : [];
}

/** @param error the error of `cron` */
function noCronJob(
  { cronTime, timeZone }: { readonly cronTime: unknown; readonly timeZone: string | undefined },
  error: unknown,
): string {
  const zone = timeZone === undefined ? '' : `, timeZone ${show(timeZone)}`;
  const expression = cronTime instanceof Date ? cronTime.toString() : show(cronTime);
  return `expression: cron cannot make a job of ${expression}${zone}: ${error instanceof Error ? error.message : String(error)}`;
}

const problemsOf = ({ kind, name }: Wanted, problems: readonly string[]): SchedulerLockConfigError =>
  new SchedulerLockConfigError(problems.map((problem) => `${kind}(${displayName(name)}): ${problem}`));
