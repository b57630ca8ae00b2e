import { Injectable } from '@nestjs/common';
import { atEndOfTurn, inModuleContext, noLongerThan } from '../base/clock.js';
import { logWarning } from './log/log-phrases.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { JobGate } from '../lock/leader/leader-lease.js';
import { GatedJobs, type JobWatcher } from '../schedule/gated-jobs.js';
import { isNamed, type JobOrchestrator } from '../schedule/scheduler-parts.js';
import { MissedTicks } from '../schedule/ticks/missed-ticks.js';
import type { BoundJob } from './bound-job.js';
import { JobRegistry } from './job-registry.js';
import { LockHost } from './lock-host.js';
import { names } from './start-warnings.js';

/** The election of `forRoot({ leader })`: the scheduled jobs of this instance run only while it leads. */
@Injectable()
export class LeaderJobs {
  /** Name of the election; without one every instance runs its jobs. */
  readonly election: string | undefined;
  readonly #gate: JobGate | undefined;
  readonly #jobs = new Map<JobOrchestrator, GatedJobs>();
  /** Takes part in the election, from the first job on; absent before `standBy()`, and once it does. */
  #begin: (() => void) | undefined;

  constructor(
    private readonly host: LockHost,
    private readonly events: SchedulerLockEvents,
    private readonly missedTicks: MissedTicks,
    private readonly jobs: JobRegistry,
  ) {
    const { leader, shutdownTimeout, clock } = host.settings;
    if (leader === undefined) return;
    const gate = new JobGate((job, tick) => this.#refused(job, tick));
    this.election = leader.name;
    this.#gate = gate;
    host.elections.add('forRoot()', leader, {
      elected: (lease) => {
        gate.open(lease);
        // The last leader may have waited for its jobs that long, without starting any, before it released its lease.
        const maxAge = 2 * leader.lock.ttl + shutdownTimeout;
        this.missedTicks.lead(this.jobs.all, maxAge);
      },
      revoked: async (reason) => {
        // A lost lease cannot be kept. Otherwise the lease is kept until no job runs under it.
        if (reason === 'shutdown') await gate.idle();
        // With a job that hangs, this instance would not take part in the election again.
        if (reason === 'resigned' || reason === 'failed')
          await noLongerThan(shutdownTimeout, gate.idle(), clock);
      },
      drained: async () => {
        gate.close();
        await gate.idle();
      },
    });
  }

  /** Whether scheduled jobs may run on this instance now. */
  get leads(): boolean {
    return this.election === undefined || this.host.elections.get(this.election).leads;
  }

  /** Puts the jobs of these schedulers behind the gate. Repeat it before a scheduler makes the timers of methods that it has found. */
  guard(orchestrators: Iterable<JobOrchestrator>): void {
    if (this.#gate === undefined) return;
    const watcher: JobWatcher = { added: () => this.#added(), ranBefore };
    for (const orchestrator of orchestrators) {
      const jobs = this.#jobs.get(orchestrator) ?? new GatedJobs(orchestrator, this.#gate, watcher);
      this.#jobs.set(orchestrator, jobs);
      jobs.guardMethods();
    }
  }

  /** Whether this instance has any job of `@nestjs/schedule`. */
  get hasJobs(): boolean {
    return [...this.#jobs.values()].some(({ hasJobs }) => hasJobs);
  }

  /** Fires a job as the scheduler does. On an instance that does not lead, it is skipped. */
  fire(job: string, tick: number | undefined, fire: () => unknown): unknown {
    return this.#gate === undefined ? fire() : this.#gate.pass(job, fire, tick);
  }

  /**
   * Takes part in the election from the first job on: if an instance without any job led, the jobs of the others would run
   * nowhere.
   */
  standBy(): void {
    if (this.election === undefined) return;
    const election = this.host.elections.get(this.election);
    this.#begin = () => election.start();
    // Other parts of the application add theirs meanwhile.
    atEndOfTurn(() => this.#tellOfUnawaited());
    if (this.hasJobs) this.#added();
  }

  /** Asks for the newest tick of a job, which no instance may have started, unless the leader does. */
  catchUp(job: BoundJob): void {
    if (this.leads) this.missedTicks.catchUp(job);
  }

  /** A job was added, perhaps by a request, in whose context this instance must not lead. */
  #added(): void {
    const begin = this.#begin;
    this.#begin = undefined;
    if (begin !== undefined) inModuleContext(begin);
  }

  #tellOfUnawaited(): void {
    // One that was made by `locks.cron()` tells when it ends.
    const added = [...this.#jobs.values()]
      .flatMap(({ unawaited }) => unawaited)
      .filter((job) => !this.jobs.has(job));
    if (added.length > 0)
      logWarning(
        () =>
          `When this instance ceases to lead, it cannot wait for cron jobs of the registry without waitForCompletion: ${names(added)}. ` +
          'Another instance may fire them while they still run here. Give them waitForCompletion: true, or make them by locks.cron().',
      );
  }

  #refused(job: string, callTick: number | undefined): void {
    const { instanceId: instance, clock } = this.host.settings;
    this.events.emit({
      type: 'skipped',
      lock: this.election ?? '',
      ...(isNamed(job) ? { job } : undefined),
      instance,
      at: clock.now(),
      reason: 'not-leader',
      ...(callTick === undefined ? undefined : { callTick }),
    });
  }
}

const ranBefore = (job: string): void =>
  logWarning(
    () =>
      `The cron job "${job}" ran on this instance before this library could stop it, and so it does on each. ` +
      'Make it, or start it, in onApplicationBootstrap().',
  );
