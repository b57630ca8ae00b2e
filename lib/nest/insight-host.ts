import { type BeforeApplicationShutdown, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { logWarning } from './log/log-phrases.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { Beats, type ShownJob } from '../insight/beats.js';
import { HungRuns } from '../insight/hung-runs.js';
import type { Refused, WatchedJob } from '../insight/watched-job.js';
import { Reader, toldOf } from '../insight/read.js';
import type { Judgement } from '../insight/judgement.js';
import { grantedAt } from '../insight/join.js';
import { strangersOf } from '../insight/strangers.js';
import { renamedAmong } from '../insight/renamed.js';
import type { RunInfo } from '../insight/types.js';
import { HUNG, Watch } from '../insight/watch.js';
import type { CronTimeClass } from '../schedule/cron-ticks.js';
import { type HistoryStore, type HungRun, UNDATED } from '../contract/history-store.js';
import { LeaderJobs } from './leader-jobs.js';
import { LockHost } from './lock-host.js';
import { renamedAs, skewedBy, strangerOf } from './start-warnings.js';
import type { BoundJob } from './bound-job.js';
import { graceOf, shownJob } from './shown-job.js';
import type { KnownJobs } from './known-jobs.js';

/** Shows the fleet that this instance is up, and notices jobs that did not run, where the store remembers such things. */
@Injectable()
export class InsightHost implements OnModuleDestroy, BeforeApplicationShutdown {
  readonly #watch: Watch | undefined;
  readonly #beats: Beats | undefined;
  readonly #hungRuns: HungRuns | undefined;
  #jobs: KnownJobs | undefined;
  #stopListening: (() => void) | undefined;
  #hasLooked = false;
  /** The last beat. */
  #left: Promise<void> | undefined;

  constructor(
    private readonly host: LockHost,
    leader: LeaderJobs,
    private readonly events: SchedulerLockEvents,
  ) {
    const { history, settings, store } = host;
    const { insight, instanceId: instance, clock } = settings;
    if (insight === undefined || history === undefined) return;
    const { keep: count, age, beat: every, application, version } = insight;
    const kept = { count, age };
    this.#watch = new Watch(new Reader(history, store.inspect.bind(store)), history, clock, {
      instance,
      kept,
      withTicks: every === 'with-ticks',
      emit: events.emit,
      idleReason: () => (leader.leads ? undefined : 'not-leader'),
      clockOffset: () => this.#beats?.clockOffset,
      runs: () => this.runs,
      hasFailed: (job) => host.runner.condition.failing.has(job),
    });
    this.#hungRuns = new HungRuns(clock, { emit: events.emit, runs: () => this.#unwatched });
    this.#beats = new Beats(history, clock, {
      instance,
      application,
      version,
      every,
      kept,
      hung: () => this.#hung(),
      answered: (took) => {
        host.heard(took);
        this.#watch?.answered(undefined);
        this.#lookForOthers(history, application);
      },
      jobs: () => this.#tell(),
      leads: () => host.elections.led,
      problem: (problem) => this.#refused(problem),
      skewed: (offset) => logWarning(() => skewedBy(offset)),
    });
  }

  /** The judgement of each job that is watched, as far as this instance knows. */
  get judgements(): ReadonlyMap<string, Judgement> {
    const known = this.#names;
    const watched = [...(this.#watch?.judgements ?? [])].filter(([job]) => known.has(job));
    const hung = this.#hungRuns?.all.map((run) => [run.job ?? run.lock, hungAs(run)] as const) ?? [];
    return new Map([...watched, ...hung]);
  }

  /** When the store last answered a sign of life of this instance, and when it last did not, epoch milliseconds. */
  get lastBeats(): { readonly answeredAt: number | undefined; readonly failedAt: number | undefined } {
    return this.#beats?.last ?? { answeredAt: undefined, failedAt: undefined };
  }

  /** By how much this machine's clock is behind the store's, ms; `undefined`: not known yet. */
  get clockOffset(): number | undefined {
    return this.#beats?.clockOffset;
  }

  /** Whether a job is decorated, or was made at run time. */
  knows(job: string): boolean {
    return this.#jobs?.has(job) ?? false;
  }

  /** Whether this instance watches a job, and hears of each of its ticks. */
  hasTicks(job: string): boolean {
    if (!this.host.remembers || this.#watch?.has(job) !== true) return false;
    const bound = this.job(job);
    return bound !== undefined && graceOf(bound, this.host.settings) !== false;
  }

  /** A job of this instance. */
  job(name: string): BoundJob | undefined {
    return this.#jobs?.all.find(({ job }) => job === name);
  }

  /** The class of the dates of this instance's jobs. */
  get cronTime(): CronTimeClass | undefined {
    for (const { schedule } of this.#jobs?.all ?? [])
      if (schedule?.cronTimeClass !== undefined) return schedule.cronTimeClass;
    return undefined;
  }

  /** @param jobs those that this instance knows at the moment */
  start(jobs: KnownJobs): void {
    this.#jobs = jobs;
    if (!this.host.remembers) return;
    for (const job of jobs.all) this.#add(job);
    this.#beats?.start();
    const stops = [
      // Tells the store at once what it has lost, or could not receive while it was away.
      this.host.store.onAvailable?.(() => this.#beats?.start()),
      this.events.on('outage', ({ phase }) => void (phase === 'ended' && this.#watch?.available())),
      this.events.on('timeout', ({ job }) => this.#soon(job)),
      this.events.on('lost', ({ job }) => this.#soon(job)),
      // A beat soon: other instances are to report the hung run, too.
      this.events.on('hung', () => this.#beats?.soon()),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop?.());
  }

  /** The store has refused a sign of life. */
  #refused(problem: string): void {
    logWarning(() => `Runs are not remembered at the moment: ${problem}`);
    this.#watch?.answered(problem);
  }

  /** A run of the job should be over. */
  #soon(job: string | undefined): void {
    if (job === undefined || !this.knows(job)) return;
    if (this.#watch?.has(job)) this.#watch.soon(job);
    else this.#hungRuns?.soon();
  }

  /** The runs that go on here of jobs that nobody watches. */
  get #unwatched(): RunInfo[] {
    const known = this.#names;
    return this.runs.filter(({ job = '' }) => known.has(job) && this.#watch?.has(job) !== true);
  }

  /** A job was made at run time. */
  added(bound: BoundJob): void {
    if (!this.host.remembers) return;
    this.#add(bound);
    this.#beats?.soon();
  }

  /** The jobs of this instance that were not deleted from the registry. A decorated one may be put back. */
  get #there(): readonly BoundJob[] {
    return (this.#jobs?.all ?? []).filter((bound) => bound.state() !== 'gone');
  }

  get #names(): ReadonlySet<string> {
    return new Set(this.#there.map(({ job }) => job));
  }

  /** What this instance reports of its jobs. One that was made at run time and deleted is not watched any more. */
  #tell(): ShownJob[] {
    for (const job of this.#watch?.jobs ?? []) if (!this.knows(job)) this.#watch?.remove(job);
    return this.#shownJobs();
  }

  #shownJobs(): ShownJob[] {
    return this.#there.map((bound) => shownJob(bound, this.host));
  }

  /** Watches a job from now on, if its lock has one name. One that is never overdue may still hang. */
  #add(bound: BoundJob): void {
    const { job, name, schedule, settings } = bound;
    if (typeof name !== 'string') return;
    const jobs = this.#jobs;
    const watched: WatchedJob = {
      job,
      lock: name,
      // Asked each time: a job that is made later may share the lock, too.
      get sharesLock() {
        return jobs?.sharesLock(bound) ?? false;
      },
      comesLate: settings.catchUp !== false,
      ttl: settings.ttl,
      grace: graceOf(bound, this.host.settings),
      interval: schedule?.every,
      shown: () => shownJob(bound, this.host),
      dates: {
        newest: (at) => schedule?.newestBefore(at),
        next: (at) => schedule?.nextAfter(at) ?? Infinity,
      },
      isThere: () => bound.state() !== 'gone',
      initialDelay: schedule?.initialDelay ?? 0,
    };
    this.#watch?.add(watched);
  }

  /** A run of a job that is scheduled begins here. */
  began(job: string, tick: number | undefined): void {
    this.#watch?.began(job, tick);
    this.#beats?.ticked();
  }

  /** A call by the scheduler did not start its job. */
  refused(job: string, tick: number | undefined, why: Refused): void {
    this.#watch?.refused(job, tick, why);
    this.#beats?.ticked();
  }

  /** Waits for nothing: the locks have to close in the same moment. */
  onModuleDestroy(): void {
    this.#stopListening?.();
    this.#watch?.stop();
    this.#hungRuns?.stop();
    this.#left = this.#beats?.stop();
  }

  /** Before the store closes. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#left;
  }

  /** Looks once, after an answer of the store: so if two start at the same time, one sees the other. */
  #lookForOthers(history: HistoryStore, application: string | undefined): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    const look = async (): Promise<void> => {
      const told = toldOf(await history.instances(undefined, UNDATED));
      const instances = told.map(({ info, jobs }) => ({ ...info, jobs }));
      const own = this.#shownJobs();
      const isStrange = (other = application): boolean => other !== application && application !== undefined;
      const ours = instances.filter((one) => !isStrange(one.application));
      for (const renamed of renamedAmong(own, ours)) logWarning(() => renamedAs(renamed));
      if (application === undefined) return;
      for (const stranger of strangersOf(application, own, instances))
        logWarning(() => strangerOf(application, stranger));
    };
    // Only a hint: it looks again at the next answer of the store.
    void look().catch(() => (this.#hasLooked = false));
  }

  /** The runs of jobs that go on here, by the store's clock. */
  get runs(): RunInfo[] {
    return this.host.runner.runs.map(({ overFor, ...run }) => ({
      ...run,
      startedAt: grantedAt(run.fencingToken),
      outcome: 'running',
      ...(overFor >= HUNG && { hung: true }),
    }));
  }

  #hung(): HungRun[] {
    const hung = this.runs.filter((run) => run.hung);
    return hung.map(({ job = '', fencingToken, tick }) => ({
      job,
      fencingToken,
      ...(tick !== undefined && { tick }),
    }));
  }
}

const hungAs = (run: RunInfo): Judgement => ({ status: 'hung', attention: true, run });
