import { type Found, isFired } from './found.js';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { atEndOfTurn } from '../base/clock.js';
import type { Duration } from '../base/duration.js';
import { SchedulerLockConfigError } from '../base/errors.js';
import type { JobStart } from '../base/job-start.js';
import { currentLock, outsideOfLocks } from '../lock/current-lock.js';
import {
  type CronJobLike,
  type CronTimeLike,
  hasScheduler,
  intervalOf,
  type JobOrchestrator,
  orchestratorsAmong,
  overlay,
  type ScheduledCronJob,
} from '../schedule/scheduler-parts.js';
import { displayName } from '../base/lock-name.js';
import { stateOf } from '../schedule/cron-job-state.js';
import { JobSchedule } from '../schedule/job-schedule.js';
import type { ScheduledCall } from '../schedule/scheduled-call.js';
import type { BoundJob } from './bound-job.js';
import { keyOf, noLines, sharedKeys } from './start-clashes.js';
import { losesTicks, sharedLocks, tellOf } from './start-warnings.js';
import {
  checkJob,
  cronParameters,
  cronProblems,
  noCronJob,
  readInterval,
  takenName,
  type Wanted,
} from './dynamic-job-checks.js';
import { KnownJobs } from './known-jobs.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import type { CronJobOptions, DynamicJob, IntervalJobOptions } from './options/job-options.js';
import { logError } from './log/log-phrases.js';
import { InsightHost } from './insight-host.js';
import { LeaderJobs } from './leader-jobs.js';
import { LockHost } from './lock-host.js';

/**
 * Jobs that the application makes at run time. They work like decorated ones: the orchestrator of `@nestjs/schedule` makes them,
 * and the interceptor runs them. With several `ScheduleModule.forRoot()`, they belong to the first one.
 */
@Injectable()
export class DynamicJobs implements OnModuleDestroy {
  /** All jobs of this instance. */
  readonly known = new KnownJobs((lock) => keyOf(this.host.store, lock) ?? lock);
  /** Decorated jobs that the scheduler does not fire. */
  #unfired: ReadonlySet<BoundJob> = new Set();
  /** Shared locks that were named in the log. */
  readonly #shared = new Set<string>();
  #started = false;
  #closed = false;
  #onFirst: (() => void) | undefined;

  constructor(
    private readonly host: LockHost,
    private readonly discovery: DiscoveryService,
    private readonly interceptor: SchedulerLockInterceptor,
    private readonly insight: InsightHost,
    private readonly leader: LeaderJobs,
  ) {}

  /**
   * Takes the decorated methods, once they are found.
   *
   * @returns the problems of dynamic jobs that were made before
   */
  meet(decorated: readonly Found[]): string[] {
    this.known.meet(decorated.map(({ bound }) => bound));
    this.#unfired = new Set(decorated.filter((one) => !isFired(one)).map(({ bound }) => bound));
    return this.known.made.flatMap((bound) =>
      this.#clashes(bound, bound).map((problem) => `dynamic job "${bound.job}": ${problem}`),
    );
  }

  /** The application has started: its jobs are watched, and a new one looks for missed ticks when it is made. */
  start(): void {
    this.#started = true;
    // When a constructor made its jobs, it was not known yet whether the store keeps queued calls.
    for (const bound of this.known.made) this.#takeQueued(bound);
    this.insight.start(this.known);
  }

  /** @param tell called once, after the turn in which the next job is made */
  onFirst(tell: () => void): void {
    this.#onFirst = tell;
  }

  /** The scheduler empties the registry later. */
  onModuleDestroy(): void {
    this.#closed = true;
  }

  cron(name: string, expression: string | Date, options: CronJobOptions, job: DynamicJob): ScheduledCronJob {
    const given = Object(options) as CronJobOptions;
    const parameters = cronParameters(name, expression, given);
    const wanted: Wanted = { kind: 'cron', name, options, job };
    const { orchestrator, facts } = this.#check(wanted, (there) => cronProblems(parameters, given, there));
    const record = {
      options: parameters,
      target: () => this.leader.fire(name, undefined, () => this.#scheduled(bound, job)),
      // Absent while the job is being made: `cron` may fire it in that very moment.
      ref: undefined as CronJobLike | undefined,
    };
    const cronTimes = (): CronTimeLike[] => (record.ref === undefined ? [] : [record.ref.cronTime]);
    const bound: BoundJob = {
      ...facts,
      schedule: JobSchedule.ofCron(parameters, cronTimes, this.host.settings.clock.monotonic()),
      state: () => stateOf(orchestrator.schedulerRegistry, name, record.ref),
      ...this.#ways(() => bound, job),
    };
    try {
      overlay(orchestrator, { cronJobs: { [name]: record } }).mountCron();
    } catch (error) {
      // A date that has passed: only a job that is started finds it out.
      throw problemsOf(wanted, [noCronJob(parameters, error)]);
    }
    this.#add(bound);
    return record.ref as NonNullable<typeof record.ref>;
  }

  interval(name: string, every: Duration, options: IntervalJobOptions, job: DynamicJob): void {
    const problems: string[] = [];
    const timeout = readInterval(every, problems);
    const wanted: Wanted = { kind: 'interval', name, options, job };
    const { orchestrator, facts } = this.#check(wanted, () => problems);
    const { schedulerRegistry: registry } = orchestrator;
    const record = {
      timeout,
      target: () => this.leader.fire(name, undefined, () => this.#scheduled(bound, job)),
      ref: undefined as unknown,
    };
    const bound: BoundJob = {
      ...facts,
      schedule: JobSchedule.ofInterval(timeout),
      state: () => (intervalOf(registry, name) === record.ref ? 'started' : 'gone'),
      ...this.#ways(() => bound, job),
    };
    overlay(orchestrator, { intervals: { [name]: record } }).mountIntervals();
    this.#add(bound);
  }

  /** How a job is started. @param bound made by then */
  #ways(bound: () => BoundJob, job: DynamicJob): Pick<BoundJob, 'fire' | 'call'> {
    return { fire: (start) => this.#again(bound(), job, start), call: () => job(currentLock()) };
  }

  #add(bound: BoundJob): void {
    this.known.add(bound);
    if (!this.#started) return;
    this.#takeQueued(bound);
    if (this.#onFirst !== undefined) atEndOfTurn(this.#onFirst);
    this.#onFirst = undefined;
    this.#warnOfSharedLock(bound);
    this.insight.added(bound);
    this.leader.catchUp(bound);
  }

  /** Queued calls of the job can run here from now on. */
  #takeQueued(bound: BoundJob): void {
    this.host.addQueueJob(bound, () => bound.state() === 'gone');
  }

  /** A warning about jobs that share a lock, once for each lock. */
  sharedLocks(jobs: readonly BoundJob[] = this.known.all): string[] {
    return sharedLocks(
      jobs.filter((job) => !this.#unfired.has(job)),
      this.#shared,
    );
  }

  /** Warns of a new job and the jobs under its lock. If two of those could lose a tick, an earlier warning has named them. */
  #warnOfSharedLock(bound: BoundJob): void {
    if (this.#shared.has(String(bound.name))) return;
    const mayLose = losesTicks(bound.settings);
    let others = 0;
    for (const other of this.known.under(bound.name)) {
      if (other !== bound && !this.#unfired.has(other)) others++;
      if (others > 1 && !mayLose) return;
    }
    if (others > 0) tellOf(this.sharedLocks([...this.known.under(bound.name)]));
  }

  /** Runs outside of the lock under which the job was made or started: another job may have done that. */
  #scheduled(bound: BoundJob, job: DynamicJob): Promise<unknown> {
    return told(outsideOfLocks(() => this.#run(bound, job, newCall(undefined))));
  }

  /** The code that fires the job again handles its errors. */
  #again(bound: BoundJob, job: DynamicJob, start: JobStart): unknown {
    return this.leader.fire(bound.job, start.tick, () => this.#run(bound, job, newCall(start)));
  }

  #run(bound: BoundJob, job: DynamicJob, call: ScheduledCall): Promise<unknown> {
    return this.interceptor.intercept(bound, [], call, () => job(currentLock()));
  }

  /** @throws SchedulerLockConfigError with every problem */
  #check(
    wanted: Wanted,
    more: (orchestrator: JobOrchestrator | undefined) => readonly string[],
  ): { orchestrator: JobOrchestrator; facts: Pick<BoundJob, 'job' | 'name' | 'settings'> } {
    const [orchestrator] = orchestratorsAmong(this.discovery.getProviders());
    const { settings: facts, problems } = checkJob(wanted, this.host.settings);
    const all = [...problems, ...more(orchestrator), ...this.#clashes(facts)];
    all.push(...noLines(facts.settings, this.host.store));
    if (this.#closed) all.push('the application is shutting down.');
    if (orchestrator !== undefined) all.push(...takenName(wanted, orchestrator));
    else if (hasScheduler(this.discovery.getProviders())) all.push(NOT_COMPLETE);
    else all.push('nothing would fire it: no module imports ScheduleModule.forRoot() of @nestjs/schedule.');
    if (all.length > 0 || orchestrator === undefined) throw problemsOf(wanted, all);
    return { orchestrator, facts };
  }

  /** Conflicts of a job and its lock with other jobs, locks and elections. @param own the job, if it is made already */
  #clashes(job: Pick<BoundJob, 'job' | 'name'>, own?: BoundJob): string[] {
    const { elections, store } = this.host;
    const { name } = job;
    const problems: string[] = [];
    if (this.known.hasNamesake(job, own)) {
      problems.push(
        `job: "${job.job}" is a job already, and they would share their ticks. Give one of them another.`,
      );
    }
    if (elections.declaredAt.has(name)) {
      problems.push(`lock: "${String(name)}" is the lock of an election. Give the job another one.`);
    }
    return [
      ...problems,
      ...sharedKeys(store, [this.known.rivalOf(name), ...elections.declaredAt.keys(), name]),
    ];
  }
}

const NOT_COMPLETE =
  'ScheduleModule is not complete yet, or of no version that the README names. Call it in onModuleInit() or later, not in a constructor.';

/** A call by the scheduler, or, with a start, a tick that this library fires again. */
const newCall = (start: JobStart | undefined): ScheduledCall => ({
  start,
  again: start !== undefined,
  over: false,
});

/** Logs the error of a job, as the scheduler does for decorated ones: `cron` may not handle it. */
const told = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => logError(() => error));

const problemsOf = ({ kind, name }: Wanted, problems: readonly string[]): SchedulerLockConfigError =>
  new SchedulerLockConfigError(problems.map((problem) => `${kind}(${displayName(name)}): ${problem}`));
