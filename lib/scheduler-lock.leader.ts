import { Inject, Injectable, Logger } from '@nestjs/common';
import { systemClock } from './clock.js';
import { SchedulerLockConfigError } from './errors.js';
import { Election, type ElectionHooks } from './leader/election.js';
import { JobGate } from './leader/job-gate.js';
import type { LockSettings } from './lease/lock-call.js';
import { PausedJobs } from './leader/paused-jobs.js';
import type { JobOrchestrator, JobRegistry } from './leader/scheduler-parts.js';
import { displayName, nameProblem } from './lock-name.js';
import { isInactive } from './schedule/made-jobs.js';
import type { HandOver } from './schedule/term.js';
import { SchedulerLockEvents } from './scheduler-lock.events.js';
import type {
  DeclaredElection,
  LeaderElectionOptions,
  LeaderHooks,
} from './scheduler-lock.leader-election.js';
import {
  checkLockOptions,
  type Checked,
  type ModuleSettings,
  ofModule,
} from './scheduler-lock.options-check.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import { MODULE_SETTINGS } from './scheduler-lock.tokens.js';

/** The elections that this application takes part in: those of `@LeaderElection()`, and the one of `forRoot({ leader })`. */
@Injectable()
export class SchedulerLeader {
  readonly #elections = new Map<string, Election>();
  /** Where each election was declared, by name. */
  readonly #places = new Map<string, string>();
  readonly #module: ModuleSettings;
  readonly #main: string | undefined;
  readonly #gate: JobGate | undefined;
  readonly #problems: string[] = [];
  #mainTtl = 0;
  #jobs: PausedJobs | undefined;
  #handOver: (handOver: HandOver) => void = () => undefined;
  /** When this instance began to stand by, monotonic. */
  #since = Infinity;

  constructor(
    @Inject(MODULE_SETTINGS) { settings }: Checked<ModuleSettings>,
    private readonly locks: SchedulerLockService,
    private readonly events: SchedulerLockEvents,
  ) {
    this.#module = settings;
    const { leader } = settings;
    if (leader === undefined) return;
    if (typeof leader !== 'object' || leader === null) {
      this.#problems = ofModule([`leader: ${String(leader)} is no object. Give { name, ttl }.`]);
      return;
    }
    const gate = new JobGate((job, tick) => this.#refused(job, tick));
    this.#main = leader.name;
    this.#gate = gate;
    const hooks: ElectionHooks = {
      elected: (lease, last) => {
        gate.open(lease);
        this.#jobs?.resume();
        // Before it gave its lease back, the last leader may have waited for its jobs that long, and started none.
        const maxAge = 2 * this.#mainTtl + (last.gaveBack ? settings.shutdownTimeout : 0);
        this.#handOver({ maxAge, since: this.#since, lastLeader: last.holder });
      },
      revoked: async (reason) => {
        this.#jobs?.pause();
        // A lease that is lost is lost; one that can be kept is kept until nothing runs under it.
        if (reason === 'resigned' || reason === 'shutdown' || reason === 'failed') await gate.idle();
      },
      drained: async () => {
        this.#jobs?.pause();
        await gate.idle();
      },
    };
    this.#problems = ofModule(
      this.#add(leader.name, leader, 'forRoot()', hooks).map((problem) => `leader: ${problem}`),
    );
  }

  /**
   * Whether this instance leads, judged by the clock at this moment.
   *
   * @param name of the election @default the one of `forRoot({ leader })`
   * @throws SchedulerLockConfigError if this application takes part in no election of this name
   */
  isLeader(name?: string): boolean {
    return this.#election(name).leads;
  }

  /**
   * Gives the leadership up, so that another instance takes it within a third of the ttl: the signal of the lease aborts,
   * `onRevoked('resigned')` is called and awaited (or the running jobs are), the lease is given back. This instance
   * campaigns again after one ttl.
   *
   * Do not await it inside a job that runs because this instance leads: it waits for that job.
   *
   * @param name of the election @default the one of `forRoot({ leader })`
   * @returns whether this instance led; resolves when the lease has been given back
   * @throws SchedulerLockConfigError if this application takes part in no election of this name
   */
  async resign(name?: string): Promise<boolean> {
    return this.#election(name).resign();
  }

  /** What is wrong with the module's option `leader`. @internal */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Whether jobs run on the leader only. @internal */
  get pausesJobs(): boolean {
    return this.#gate !== undefined;
  }

  /** Where each election was declared, by its name, which is that of its lock. @internal */
  get places(): ReadonlyMap<unknown, string> {
    return this.#places;
  }

  /**
   * Adds the election of a provider.
   *
   * @internal
   * @returns what is wrong with it
   */
  declare(instance: object, { name, options }: DeclaredElection): string[] {
    const { onElected, onRevoked } = instance as Partial<LeaderHooks>;
    const missing = Object.entries({ onElected, onRevoked }).filter(([, hook]) => typeof hook !== 'function');
    if (missing.length > 0) return missing.map(([hook]) => `it has no method ${hook}().`);
    if (typeof options !== 'object' || options === null)
      return [`${String(options)} are no options. Give { ttl }.`];
    const leader = instance as LeaderHooks;
    return this.#add(name, options, instance.constructor.name, {
      elected: (lease) => leader.onElected(lease),
      revoked: (reason) => leader.onRevoked(reason),
    });
  }

  /**
   * Pauses the jobs of the scheduler, those included that it has still to make.
   *
   * @internal
   */
  pauseJobs(registry: JobRegistry, orchestrator: JobOrchestrator): void {
    if (this.#gate === undefined) return;
    this.#jobs = new PausedJobs(registry, orchestrator, this.#gate, (job, error) => {
      new Logger('SchedulerLock').error(`The cron job "${job}" could not be started: ${String(error)}`);
    });
    this.#jobs.takeOver();
  }

  /**
   * Whether the application has stopped a cron job on this instance, which pauses jobs besides.
   *
   * @internal
   */
  hasStopped(job: object): boolean {
    return this.#jobs?.hasStopped(job) ?? isInactive(job);
  }

  /**
   * Fires a job as the scheduler does: if jobs are paused, it is skipped.
   *
   * @internal
   */
  fire(job: string, tick: number | undefined, fire: () => unknown): unknown {
    return this.#gate === undefined ? fire() : this.#gate.pass(job, fire, tick);
  }

  /**
   * Begins to campaign.
   *
   * @internal
   * @param handOver runs ticks that nobody started: called when this instance is elected to run the jobs
   */
  start(handOver: (handOver: HandOver) => void): void {
    this.#handOver = handOver;
    this.#since = systemClock.monotonic();
    const elections = [...this.#elections.values()];
    if (elections.length === 0 || this.#module.lock.enabled === false) return;
    this.locks.beforeShutdown(async () => {
      await Promise.all(elections.map((election) => election.stop()));
    });
    for (const election of elections) election.start();
  }

  #election(name = this.#main): Election {
    const election = name === undefined ? undefined : this.#elections.get(name);
    if (election !== undefined) return election;
    const known = [...this.#elections.keys()].map((other) => `"${other}"`).join(', ');
    const what = name === undefined ? 'forRoot() was given no `leader`' : `there is no election "${name}"`;
    throw new SchedulerLockConfigError([
      `${what}. This application takes part in ${known === '' ? 'none' : known}.`,
    ]);
  }

  #add(name: unknown, { ttl }: LeaderElectionOptions, place: string, hooks: ElectionHooks): string[] {
    const problem = nameProblem(name);
    const lock = { enabled: this.#module.lock.enabled, ttl: ttl ?? this.#module.lock.ttl };
    const checked = checkLockOptions({}, { ...this.#module, lock });
    // What is wrong with the module's own options has been said once.
    const problems = ttl === undefined ? [] : [...checked.problems];
    if (typeof name !== 'string' || problem !== undefined) {
      return [...problems, `name: ${displayName(name)} is not valid: ${problem}.`];
    }
    const other = this.#places.get(name);
    if (other !== undefined) {
      return [
        ...problems,
        `name: "${name}" is the election of ${other} already. Give one of them another name.`,
      ];
    }
    this.#places.set(name, place);
    const settings: LockSettings = { ...checked.settings, onStoreError: 'throw' };
    if (name === this.#main) this.#mainTtl = settings.ttl;
    const election = new Election({
      name,
      ttl: settings.ttl,
      patience: this.#module.shutdownTimeout,
      clock: systemClock,
      emit: this.events.emit,
      hooks,
      take: () => this.locks.campaign(name, settings),
    });
    this.#elections.set(name, election);
    return problems;
  }

  #refused(job: string, callTick: number | undefined): void {
    this.events.emit({
      type: 'skipped',
      lock: this.#main ?? '',
      job,
      instance: this.locks.instanceId,
      at: systemClock.now(),
      reason: 'not-leader',
      ...(callTick === undefined ? undefined : { callTick }),
    });
  }
}
