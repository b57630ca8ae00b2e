import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
  Inject,
} from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import { SchedulerLockConfigError } from './errors.js';
import { bind, type GuardedMethod, guardedMethods, isBound } from './guard.js';
import type { JobStart } from './job-start.js';
import { displayName, nameProblem } from './lock-name.js';
import { isOrchestrator, type JobOrchestrator, type JobRegistry } from './leader/scheduler-parts.js';
import { type CronJobs, JobSchedule } from './schedule/job-schedule.js';
import { MadeJobs } from './schedule/made-jobs.js';
import {
  fireAgain,
  isScheduled,
  markByHand,
  markScheduled,
  takeScheduledMark,
} from './schedule/scheduled-call.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import {
  type Found,
  knownNames,
  namesOfElections,
  sharedKeys,
  sharedNames,
} from './scheduler-lock.clashes.js';
import { declaredElection } from './scheduler-lock.leader-election.js';
import { OPTION_NAMES, unknownOptions } from './scheduler-lock.option-names.js';
import { SchedulerLeader } from './scheduler-lock.leader.js';
import {
  checkLockOptions,
  type Checked,
  type ModuleSettings,
  ofModule,
} from './scheduler-lock.options-check.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import { startLine } from './scheduler-lock.start-line.js';
import { MODULE_SETTINGS } from './scheduler-lock.tokens.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** `SchedulerRegistry` of `@nestjs/schedule`, as far as it is needed. */
type Registry = { getCronJobs: CronJobs } & JobRegistry;

/**
 * Finds the guarded methods of the application, checks their options, and binds each instance's method to the
 * interceptor. Whatever is misconfigured, in the module or in any decorator, stops the start in one message.
 */
@Injectable()
export class SchedulerLockExplorer implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #undo: (() => void)[] = [];
  #found: Found[] = [];
  readonly #leaders = new Set<object>();
  #keepers: { registry: Registry; orchestrator: JobOrchestrator | undefined } | undefined;
  readonly #made = new MadeJobs(
    () => this.#scheduler(),
    (job) => this.leader.hasStopped(job),
  );

  constructor(
    @Inject(MODULE_SETTINGS) private readonly module: Checked<ModuleSettings>,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModulesContainer,
    private readonly interceptor: SchedulerLockInterceptor,
    private readonly locks: SchedulerLockService,
    private readonly leader: SchedulerLeader,
  ) {}

  async onModuleInit(): Promise<void> {
    const problems = [...ofModule(this.module.problems), ...this.leader.problems];
    if (this.#countModules() > 1) {
      problems.push(
        ...ofModule([
          'it is imported more than once. Call forRoot() or forRootAsync() once, in the root module.',
        ]),
      );
    }
    for (const wrapper of this.#wrappers()) this.#explore(wrapper, problems);
    problems.push(...sharedNames(this.#found), ...namesOfElections(this.#found, this.leader.places));
    const { connection, key } = this.module.settings;
    const locks = [...this.#found.map(({ bound }) => bound.name), ...this.leader.places.keys()];
    if (connection !== undefined) problems.push(...ofModule(sharedKeys(locks, key)));
    const scheduler = this.leader.pausesJobs ? this.#scheduler() : undefined;
    if (scheduler !== undefined && scheduler.orchestrator === undefined) {
      problems.push(
        ...ofModule([
          'leader: jobs cannot be paused with this version of @nestjs/schedule. Use one that the README names.',
        ]),
      );
    }
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    if (scheduler?.orchestrator !== undefined)
      this.leader.pauseJobs(scheduler.registry, scheduler.orchestrator);
    await this.locks.start();
    await this.locks.checkNames(knownNames(this.#found, this.leader.places));
    for (const found of this.#found) this.#bind(found);
  }

  /** The scheduler has looked its methods up by now: from here on, whoever looks one up calls it by hand. */
  onApplicationBootstrap(): void {
    this.#warnOfScheduler();
    this.#tellOfStart();
    for (const { instance, method } of this.#found) {
      if (isScheduled(Reflect.get(instance, method.key))) this.#undo.push(markByHand(instance, method.key));
    }
    const jobs = this.#found.map(({ bound }) => bound);
    if (!this.leader.pausesJobs) for (const job of jobs) this.interceptor.catchUp(job);
    this.leader.start((handOver) => this.interceptor.lead(jobs, handOver));
  }

  /** Bindings stay: a call that still comes is skipped as `shutting-down`. */
  onModuleDestroy(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  #warnOfScheduler(): void {
    const jobs = this.#found.filter(({ instance, method }) => isScheduled(Reflect.get(instance, method.key)));
    if (jobs.length === 0 || this.#scheduler() !== undefined) return;
    new Logger('SchedulerLock').warn(
      `Nothing fires ${jobs.map(({ bound }) => bound.job).join(', ')}: no module imports ScheduleModule.forRoot() of @nestjs/schedule.`,
    );
  }

  #tellOfStart(): void {
    const jobs = this.#found.map(({ instance, method, bound: { job, settings } }) => {
      return { job, scheduled: isScheduled(Reflect.get(instance, method.key)), enabled: settings.enabled };
    });
    const { instanceId: instance, storeLabel: store } = this.locks;
    const line = startLine(jobs, { instance, store, leader: this.module.settings.leader?.name });
    if (line !== undefined) new Logger('SchedulerLock').log(line);
  }

  /** The jobs that the scheduler has made; none without its module. */
  #cronJobs(): ReturnType<CronJobs> {
    return this.#scheduler()?.registry.getCronJobs() ?? new Map();
  }

  /** The parts of `@nestjs/schedule`, told by what they can do: it is never imported here. */
  #scheduler(): { registry: Registry; orchestrator: JobOrchestrator | undefined } | undefined {
    if (this.#keepers !== undefined) return this.#keepers;
    const instances = this.discovery.getProviders().map(({ instance }): unknown => instance);
    const registry = instances.find(isRegistry);
    if (registry !== undefined) this.#keepers = { registry, orchestrator: instances.find(isOrchestrator) };
    return this.#keepers;
  }

  #countModules(): number {
    const own = [...this.modules.values()].filter(({ providers }) => providers.has(SchedulerLockExplorer));
    return own.length;
  }

  #wrappers(): InstanceWrapper[] {
    return [...this.discovery.getControllers(), ...this.discovery.getProviders()];
  }

  #explore(wrapper: InstanceWrapper, problems: string[]): void {
    const { metatype } = wrapper;
    const prototype = wrapper.isNotMetatype ? undefined : (metatype?.prototype as object | undefined);
    const declared = prototype === undefined ? [] : guardedMethods(Object.create(prototype) as object);
    if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
      if (prototype !== undefined && declaredElection(prototype.constructor) !== undefined) {
        problems.push(
          `${metatype?.name}: @LeaderElection() on a request-scoped or transient provider (it is so by itself, or by what it injects). ` +
            'Its instances come and go. Use a provider with the default scope.',
        );
      }
      for (const { key } of declared) {
        problems.push(
          `${metatype?.name}.${String(key)}: @SchedulerLock() on a request-scoped or transient provider (it is so by itself, or by what it injects). ` +
            'Its instances come and go, and the scheduler does not fire their methods. Move the method to a provider with the default scope.',
        );
      }
      return;
    }
    const instance: unknown = wrapper.instance;
    if (typeof instance !== 'object' || instance === null) return;
    this.#exploreElection(instance, problems);
    for (const method of guardedMethods(instance)) {
      // An alias (useExisting) shows the same instance again.
      if (this.#found.some((found) => found.instance === instance && found.method === method)) continue;
      this.#check(instance, method, problems);
    }
  }

  #exploreElection(instance: object, problems: string[]): void {
    const election = declaredElection(instance.constructor);
    // An alias (useExisting) shows the same instance again.
    if (election === undefined || this.#leaders.has(instance)) return;
    this.#leaders.add(instance);
    const { name: _, ...names } = OPTION_NAMES.leader;
    const found = [
      ...unknownOptions(Object(election.options) as object, names),
      ...this.leader.declare(instance, election),
    ];
    problems.push(...found.map((problem) => `${instance.constructor.name}: @LeaderElection(): ${problem}`));
  }

  #check(instance: object, method: GuardedMethod, problems: string[]): void {
    const { key, options } = method;
    const place = `${instance.constructor.name}.${String(key)}`;
    if (typeof options !== 'object' || options === null) {
      problems.push(`${place}: @SchedulerLock(${String(options)}): expected a name or options.`);
      return;
    }
    const { job = place, name = job, ...given } = options;
    const found = unknownOptions(options, OPTION_NAMES.decorator);
    if (instance.constructor.name === '' && options.job === undefined) {
      found.push(
        'the class has no name, so its jobs have none either. Give `job`, and `name` if the lock is to be called otherwise.',
      );
    } else {
      const jobProblem = nameProblem(job);
      if (jobProblem !== undefined) found.push(`job: ${displayName(job)} is not valid: ${jobProblem}.`);
      const lockProblem = typeof name === 'function' || name === job ? undefined : nameProblem(name);
      if (lockProblem !== undefined) found.push(`name: ${displayName(name)} is not valid: ${lockProblem}.`);
    }
    if (isBound(instance, method)) {
      found.push('this very instance is already bound by another application that has not been closed.');
    }
    const checked = checkLockOptions(given, this.module.settings);
    // What is wrong with the module's own options has been said once.
    found.push(...checked.problems.filter((problem) => !this.module.problems.includes(problem)));
    problems.push(...found.map((problem) => `${place}: ${problem}`));
    const outermost: unknown = Reflect.get(instance, key);
    const schedule = isScheduled(outermost) ? JobSchedule.of(outermost, () => this.#cronJobs()) : undefined;
    const state = isScheduled(outermost) ? this.#made.claim(outermost, instance) : () => 'started' as const;
    const fire = (start: JobStart): unknown =>
      isScheduled(outermost)
        ? this.leader.fire(job, start.tick, () => fireAgain(outermost, instance, key, start))
        : undefined;
    const bound = { job, name, settings: checked.settings, schedule, fire, state };
    this.#found.push({ instance, method, bound });
  }

  #bind({ instance, method, bound }: Found): void {
    const { key } = method;
    const outermost: unknown = Reflect.get(instance, key);
    if (isScheduled(outermost)) markScheduled(outermost, key);
    bind(instance, method, (proceed, args) =>
      this.interceptor.intercept(bound, args, takeScheduledMark(instance, key), proceed),
    );
  }
}

function isRegistry(instance: unknown): instance is Registry {
  const registry = instance as Partial<Record<'getCronJobs' | 'addCronJob', unknown>> | null | undefined;
  return typeof registry?.getCronJobs === 'function' && typeof registry.addCronJob === 'function';
}
