import { Inject, Injectable } from '@nestjs/common';
import { inModuleContext } from '../clock.js';
import { SchedulerLockConfigError } from '../errors.js';
import { Election, type ElectionHooks } from '../leader/election.js';
import { JobGate } from '../leader/job-gate.js';
import type { LockSettings } from '../lease/lock-call.js';
import { type JobProblems, PausedJobs } from '../scheduler/paused-jobs.js';
import type { JobOrchestrator } from '../scheduler/scheduler-parts.js';
import { displayName, nameProblem } from '../lock-name.js';
import { isInactive } from '../scheduler/cron-job-state.js';
import type { Elected } from '../ticks/term.js';
import { SchedulerLockEvents } from '../events/scheduler-lock.events.js';
import type { DeclaredElection, LeaderHooks } from '../decorators/leader-election.decorator.js';
import { logError, logWarning } from '../events/log.js';
import type { LeaderElectionOptions } from '../options/options.js';
import { checkLockOptions, type Checked, type ModuleSettings, ofModule } from '../options/check.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import { MODULE_SETTINGS } from './tokens.js';

/** The elections that this application takes part in: those of `@LeaderElection()`, and the one of `forRoot({ leader })`. */
@Injectable()
export class SchedulerLeader {
  readonly #elections = new Map<string, Election>();
  /** The place where each election was declared, by its name. */
  readonly #places = new Map<string, string>();
  readonly #module: ModuleSettings;
  readonly #main: string | undefined;
  readonly #gate: JobGate | undefined;
  readonly #problems: string[] = [];
  #mainTtl = 0;
  readonly #jobs = new Map<JobOrchestrator, PausedJobs>();
  /** Absent as long as this instance takes no part in the election of `forRoot({ leader })`. */
  #handOver: ((elected: Elected) => void) | undefined;
  /** Takes part in that election from the first job on; absent before `start()`, and once it does. */
  #standBy: (() => void) | undefined;
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
    const gate = new JobGate((job, tick) => this.#refused(job, tick));
    this.#main = leader.name;
    this.#gate = gate;
    const hooks: ElectionHooks = {
      elected: (lease, last) => {
        gate.open(lease);
        for (const jobs of this.#jobs.values()) jobs.resume();
        // Before the last leader released its lease, it may have waited for its jobs that long, without starting any.
        const maxAge = 2 * this.#mainTtl + (last.gaveBack ? settings.shutdownTimeout : 0);
        this.#handOver?.({ maxAge, since: this.#since });
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
    };
    this.#problems = ofModule(
      this.#add(leader.name, leader, 'forRoot()', hooks).map((problem) => `leader: ${problem}`),
    );
  }

  /**
   * Whether this instance leads, judged by the clock at this moment. For the election of `forRoot({ leader })`, an instance
   * without any scheduled job never does.
   *
   * @param name of the election @default the one of `forRoot({ leader })`
   * @throws SchedulerLockConfigError if this application takes part in no election of this name
   */
  isLeader(name?: string): boolean {
    return this.#election(name).leads;
  }

  /**
   * Gives up the leadership, so that another instance takes it within a third of the ttl. The signal of the lease aborts,
   * `onRevoked('resigned')` is called and awaited (for `forRoot({ leader })`: the running jobs are awaited), and the lease
   * is released. This instance campaigns again after one ttl.
   *
   * Do not await it inside a job that runs because this instance leads: it waits for that job.
   *
   * @param name of the election @default the one of `forRoot({ leader })`
   * @returns whether this instance led; resolves when the lease was released
   * @throws SchedulerLockConfigError if this application takes part in no election of this name
   */
  async resign(name?: string): Promise<boolean> {
    return this.#election(name).resign();
  }

  /** The problems of the module's option `leader`. @internal */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** Whether jobs run on the leader only. @internal */
  get pausesJobs(): boolean {
    return this.#gate !== undefined;
  }

  /** The place where each election was declared, by its name, which is that of its lock. @internal */
  get places(): ReadonlyMap<unknown, string> {
    return this.#places;
  }

  /**
   * Adds the election of a provider.
   *
   * @internal
   * @returns its problems
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
   * Pauses the jobs of these schedulers, including those that they will make. Safe to repeat.
   *
   * @internal
   */
  pauseJobs(orchestrators: Iterable<JobOrchestrator>): void {
    const gate = this.#gate;
    if (gate === undefined) return;
    const problems: JobProblems = {
      failed: (job, error) => logError(() => `The cron job "${job}" could not be started: ${String(error)}`),
      ranBefore: (job) =>
        logWarning(
          () =>
            `The cron job "${job}" ran on this instance before jobs could be paused, and so it does on each. ` +
            'Make it, or start it, in onApplicationBootstrap().',
        ),
    };
    for (const orchestrator of orchestrators) {
      if (this.#jobs.has(orchestrator)) continue;
      const jobs = new PausedJobs(orchestrator, gate, problems);
      this.#jobs.set(orchestrator, jobs);
      jobs.takeOver(() => this.#added());
    }
  }

  /**
   * Whether this instance has any job of `@nestjs/schedule`.
   *
   * @internal
   */
  get hasJobs(): boolean {
    return [...this.#jobs.values()].some(({ hasJobs }) => hasJobs);
  }

  /**
   * Whether the application has stopped a cron job on this instance; pausing it does not count.
   *
   * @internal
   */
  hasStopped(job: object): boolean {
    if (this.#jobs.size === 0) return isInactive(job);
    return [...this.#jobs.values()].some((jobs) => jobs.hasStopped(job));
  }

  /**
   * Fires a job as the scheduler does. If jobs are paused, it is skipped.
   *
   * @internal
   */
  fire(job: string, tick: number | undefined, fire: () => unknown): unknown {
    return this.#gate === undefined ? fire() : this.#gate.pass(job, fire, tick);
  }

  /**
   * Begins to campaign. In the election of `forRoot({ leader })`, an instance without any job waits for its first one: if it
   * led, the jobs of the other instances would run nowhere.
   *
   * @internal
   * @param handOver runs ticks that no instance started; called when this instance is elected to run the jobs. `undefined`:
   *   this instance takes no part in that election
   */
  start(handOver: ((elected: Elected) => void) | undefined): void {
    const elections = [...this.#elections.values()];
    if (elections.length === 0 || this.#module.lock.enabled === false) return;
    this.locks.beforeShutdown(async () => {
      this.#standBy = undefined;
      await Promise.all(elections.map((election) => election.stop()));
    });
    for (const election of elections) {
      if (election.name !== this.#main) election.start();
      else if (handOver !== undefined)
        this.#standBy = () => {
          this.#handOver = handOver;
          this.#since = this.#module.clock.monotonic();
          election.start();
        };
    }
    if (this.hasJobs) this.#added();
  }

  /** A job was added, perhaps by a request, in whose context this instance must not lead. */
  #added(): void {
    const standBy = this.#standBy;
    this.#standBy = undefined;
    if (standBy !== undefined) inModuleContext(standBy);
  }

  #pause(): void {
    for (const jobs of this.#jobs.values()) jobs.pause();
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
    // Problems of the module's own options are reported elsewhere.
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
    const settings: LockSettings = { ...checked.settings, onStoreError: 'throw', abortOnShutdown: false };
    if (name === this.#main) this.#mainTtl = settings.ttl;
    const election = new Election({
      name,
      ttl: settings.ttl,
      patience: this.#module.shutdownTimeout,
      clock: this.#module.clock,
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
      at: this.#module.clock.now(),
      reason: 'not-leader',
      ...(callTick === undefined ? undefined : { callTick }),
    });
  }
}
