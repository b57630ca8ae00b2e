import { type BeforeApplicationShutdown, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { grantedAt } from '../insight/join.js';
import { Presence } from '../insight/presence.js';
import type { RunInfo } from '../insight/types.js';
import { HUNG } from '../insight/watched-job.js';
import type { CronTimeClass } from '../schedule/tick-finder.js';
import type { BoundJob } from './bound-job.js';
import { JobRegistry } from './job-registry.js';
import { LeaderJobs } from './leader-jobs.js';
import { LockHost } from './lock-host.js';
import { logWarning } from './log/log-phrases.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { shownJob, watchedJob } from './shown-job.js';

/** Makes the instance present where the store remembers such things, and tells its {@link Presence} of the application's jobs and runs. */
@Injectable()
export class InsightHost implements OnModuleDestroy, BeforeApplicationShutdown {
  /** Absent: nothing is remembered. */
  readonly presence: Presence | undefined;
  #cronTime: CronTimeClass | undefined;
  #stopListening: (() => void) | undefined;

  constructor(
    private readonly host: LockHost,
    leader: LeaderJobs,
    private readonly events: SchedulerLockEvents,
    readonly jobs: JobRegistry,
  ) {
    const { history, settings, store } = host;
    const { insight, instanceId: instance, clock } = settings;
    if (insight === undefined || history === undefined) return;
    const { keep: count, age, beat: every, application, version } = insight;
    this.presence = new Presence(history, store.inspect.bind(store), clock, {
      instance,
      application,
      version,
      every,
      kept: { count, age },
      emit: events.emit,
      // A decorated job that was deleted from the registry may be put back.
      jobs: () => jobs.all.filter((bound) => bound.state() !== 'gone').map((bound) => shownJob(bound, host)),
      knows: (job) => jobs.has(job),
      runs: () => this.runs,
      leads: () => host.elections.led,
      idleReason: () => (leader.leads ? undefined : 'not-leader'),
      wentWrong: (job) => host.runner.condition.wrong.get(job),
      heard: (took) => host.heard(took),
      warn: (problem) => logWarning(() => problem),
    });
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

  /** The class of the dates of this instance's jobs. */
  readonly cronTime = (): CronTimeClass | undefined =>
    (this.#cronTime ??= this.jobs.all.find(({ schedule }) => schedule?.cronTimeClass !== undefined)?.schedule
      ?.cronTimeClass);

  start(): void {
    const { presence, events, jobs } = this;
    if (!this.host.remembers || presence === undefined) return;
    for (const job of jobs.all) presence.watch.add(watchedJob(job, this.host));
    presence.beats.start();
    const stops = [
      this.host.store.onAvailable?.(() => presence.beats.start()),
      events.on('outage', ({ phase }) => void (phase === 'ended' && presence.watch.available())),
      events.on('timeout', ({ job }) => presence.watch.soon(job)),
      events.on('lost', ({ job }) => presence.watch.soon(job)),
      events.on('hung', () => presence.beats.soon()),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop?.());
  }

  /** A job was made at run time. */
  added(bound: BoundJob): void {
    if (!this.host.remembers) return;
    this.presence?.watch.add(watchedJob(bound, this.host));
    this.presence?.beats.soon();
  }

  /** Waits for nothing: the locks have to close in the same moment. */
  onModuleDestroy(): void {
    this.#stopListening?.();
    this.presence?.stop();
  }

  /** Before the store closes. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.presence?.left();
  }
}
