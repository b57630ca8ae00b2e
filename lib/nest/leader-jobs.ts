import { Injectable } from '@nestjs/common';
import { inModuleContext } from '../clock.js';
import { logError, logWarning } from '../events/log.js';
import { SchedulerLockEvents } from '../events/scheduler-lock.events.js';
import { JobGate } from '../leader/job-gate.js';
import { isInactive } from '../scheduler/cron-job-state.js';
import { type JobProblems, PausedJobs } from '../scheduler/paused-jobs.js';
import type { JobOrchestrator } from '../scheduler/scheduler-parts.js';
import type { Elected } from '../ticks/term.js';
import { LockHost } from './lock-host.js';

/** The election of `forRoot({ leader })`: the scheduled jobs of this instance are paused unless it leads. */
@Injectable()
export class LeaderJobs {
  /** Name of the election; without one no job is paused. */
  readonly election: string | undefined;
  readonly #gate: JobGate | undefined;
  readonly #jobs = new Map<JobOrchestrator, PausedJobs>();
  /** Takes part in the election, from the first job on; absent before `standBy()`, and once it does. */
  #begin: (() => void) | undefined;
  #handOver: (ticks: Omit<Elected, 'since'>) => void = () => undefined;

  constructor(
    private readonly host: LockHost,
    private readonly events: SchedulerLockEvents,
  ) {
    const { leader, shutdownTimeout } = host.settings;
    if (leader === undefined) return;
    const gate = new JobGate((job, tick) => this.#refused(job, tick));
    this.election = leader.name;
    this.#gate = gate;
    host.elections.add('forRoot()', leader, {
      elected: (lease, gaveBack) => {
        gate.open(lease);
        for (const jobs of this.#jobs.values()) jobs.resume();
        // Before the last leader released its lease, it may have waited for its jobs that long, without starting any.
        const maxAge = 2 * leader.lock.ttl + (gaveBack ? shutdownTimeout : 0);
        this.#handOver({ maxAge });
      },
      revoked: async (reason) => {
        this.#pause();
        // A lost lease cannot be kept. Otherwise the lease is kept until no job runs under it.
        if (reason === 'resigned' || reason === 'shutdown' || reason === 'failed') await gate.idle();
      },
      drained: async () => {
        this.#pause();
        await gate.idle();
      },
    });
  }

  /** Whether scheduled jobs may run on this instance now. */
  get leads(): boolean {
    return this.election === undefined || this.host.elections.get(this.election).leads;
  }

  /** Pauses the jobs of these schedulers, including those that they will make. Safe to repeat. */
  pauseJobs(orchestrators: Iterable<JobOrchestrator>): void {
    for (const orchestrator of orchestrators) {
      if (this.#gate === undefined || this.#jobs.has(orchestrator)) continue;
      const jobs = new PausedJobs(orchestrator, this.#gate, PROBLEMS);
      this.#jobs.set(orchestrator, jobs);
      jobs.takeOver(() => this.#added());
    }
  }

  /** Whether this instance has any job of `@nestjs/schedule`. */
  get hasJobs(): boolean {
    return [...this.#jobs.values()].some(({ hasJobs }) => hasJobs);
  }

  /** Whether the application has stopped a cron job on this instance; pausing it does not count. */
  hasStopped(job: object): boolean {
    if (this.#jobs.size === 0) return isInactive(job);
    return [...this.#jobs.values()].some((jobs) => jobs.hasStopped(job));
  }

  /** Fires a job as the scheduler does. If jobs are paused, it is skipped. */
  fire(job: string, tick: number | undefined, fire: () => unknown): unknown {
    return this.#gate === undefined ? fire() : this.#gate.pass(job, fire, tick);
  }

  /**
   * Takes part in the election from the first job on: if an instance without any job led, the jobs of the others would run
   * nowhere.
   *
   * @param handOver runs ticks that no instance started; called when this instance is elected
   */
  standBy(handOver: (elected: Elected) => void): void {
    if (this.election === undefined) return;
    const election = this.host.elections.get(this.election);
    this.#begin = () => {
      const since = this.host.settings.clock.monotonic();
      this.#handOver = (ticks) => handOver({ ...ticks, since });
      election.start();
    };
    if (this.hasJobs) this.#added();
  }

  /** A job was added, perhaps by a request, in whose context this instance must not lead. */
  #added(): void {
    const begin = this.#begin;
    this.#begin = undefined;
    if (begin !== undefined) inModuleContext(begin);
  }

  #pause(): void {
    for (const jobs of this.#jobs.values()) jobs.pause();
  }

  #refused(job: string, callTick: number | undefined): void {
    const { instanceId: instance, clock } = this.host.settings;
    this.events.emit({
      type: 'skipped',
      lock: this.election ?? '',
      job,
      instance,
      at: clock.now(),
      reason: 'not-leader',
      ...(callTick === undefined ? undefined : { callTick }),
    });
  }
}

const PROBLEMS: JobProblems = {
  failed: (job, error) => logError(() => `The cron job "${job}" could not be started: ${String(error)}`),
  ranBefore: (job) =>
    logWarning(
      () =>
        `The cron job "${job}" ran on this instance before jobs could be paused, and so it does on each. ` +
        'Make it, or start it, in onApplicationBootstrap().',
    ),
};
