import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
  Inject,
} from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { SchedulerLockConfigError } from '../errors.js';
import {
  bind,
  type BoundMethod,
  type LockedMethod,
  lockedMethods,
  isBound,
} from '../decorators/locked-method.js';
import type { JobStart } from '../job-start.js';
import { outsideOfLocks } from '../lease/current-lock.js';
import { displayName, nameProblem } from '../lock-name.js';
import {
  isScheduled,
  isUnknownScheduler,
  type JobOrchestrator,
  orchestratorsAmong,
  unmadeJobs,
} from '../scheduler/scheduler-parts.js';
import { JobSchedule } from '../scheduler/job-schedule.js';
import { CronJobState } from '../scheduler/cron-job-state.js';
import { fireAgain, markByHand, markScheduled, scheduledCall } from '../scheduler/scheduled-call.js';
import { type BoundJob, SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import {
  type Found,
  isFired,
  knownNames,
  minifiedJobs,
  namesOfElections,
  placeOf,
  sharedKeys,
  sharedNames,
} from './start-checks.js';
import { DynamicJobs } from './dynamic-jobs.js';
import { declaredElection } from '../decorators/leader-election.decorator.js';
import { unknownOptions } from '../options/names.js';
import { SchedulerLeader } from './scheduler-leader.js';
import { checkLockOptions, type Checked, type ModuleSettings, ofModule } from '../options/check.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import { names, startLine } from './start-line.js';
import { MODULE_SETTINGS } from './tokens.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/**
 * Finds the guarded methods of the application, checks their options, and binds each instance's method to the interceptor. If
 * anything is misconfigured, in the module or in any decorator, it stops the start with one message.
 */
@Injectable()
export class SchedulerLockExplorer implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger('SchedulerLock');
  readonly #undo: (() => void)[] = [];
  readonly #methods = new Map<Found, BoundMethod>();
  readonly #found: Found[] = [];
  readonly #leaders = new Set<object>();
  #orchestrators: readonly JobOrchestrator[] = [];
  readonly #made = new CronJobState(
    () => this.#orchestrators,
    (job) => this.leader.hasStopped(job),
  );

  constructor(
    @Inject(MODULE_SETTINGS) private readonly module: Checked<ModuleSettings>,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModulesContainer,
    private readonly interceptor: SchedulerLockInterceptor,
    private readonly locks: SchedulerLockService,
    private readonly leader: SchedulerLeader,
    private readonly dynamic: DynamicJobs,
  ) {
    // Runs before the first timer can fire, so jobs that a constructor has made are paused in time.
    if (leader.pausesJobs)
      process.nextTick(() => leader.pauseJobs(orchestratorsAmong(discovery.getProviders())));
  }

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
    problems.push(...this.dynamic.meet(this.#found));
    const locks = [...this.#found.map(({ bound }) => bound.name), ...this.leader.places.keys()];
    problems.push(...ofModule(sharedKeys(this.module.settings.store, locks)));
    this.#orchestrators = orchestratorsAmong(this.discovery.getProviders());
    problems.push(...ofModule(this.#unknownScheduler()));
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    this.leader.pauseJobs(this.#orchestrators);
    await this.locks.start();
    await this.locks.checkNames(knownNames(this.#found, this.leader.places));
    for (const found of this.#found) this.#bind(found);
  }

  /** The scheduler has looked up its methods by now: from here on, code that looks one up calls it by hand. */
  onApplicationBootstrap(): void {
    this.#keepMethods();
    const minified = minifiedJobs(this.#found);
    if (minified !== undefined) this.#logger.warn(minified);
    this.#warnOfScheduler();
    this.#tellOfStart();
    const runsJobs = this.#runsJobs();
    for (const found of this.#found) {
      if (isFired(found)) this.#undo.push(markByHand(found.instance, found.method.key));
    }
    const jobs = (): BoundJob[] => [...this.#found.map(({ bound }) => bound), ...this.dynamic.jobs];
    if (!this.leader.pausesJobs) for (const job of jobs()) this.interceptor.catchUp(job);
    this.dynamic.start();
    this.leader.start(runsJobs ? (handOver) => this.interceptor.lead(jobs(), handOver) : undefined);
  }

  /** From now on another application may bind these instances. Until then, calls are skipped as `shutting-down`. */
  onModuleDestroy(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** Another application that started at the same time may have bound an instance meanwhile. */
  #keepMethods(): void {
    const lost = [...this.#methods].filter(([, method]) => !method.keep());
    if (lost.length === 0) return;
    for (const method of this.#methods.values()) method.free();
    throw new SchedulerLockConfigError(lost.map(([found]) => `${placeOf(found)}: ${BOUND_ALREADY}`));
  }

  #warnOfScheduler(): void {
    const scheduled = this.#found.filter(isFired);
    if (scheduled.length === 0 || this.#orchestrators.length > 0) return;
    this.#logger.warn(
      `Nothing fires ${scheduled.map(({ bound }) => bound.job).join(', ')}: no module imports ScheduleModule.forRoot() of @nestjs/schedule.`,
    );
  }

  /** Problems if no known scheduler was found: without one, ticks would be lost and jobs would not be paused, silently. */
  #unknownScheduler(): string[] {
    if (this.#orchestrators.length > 0 || !isUnknownScheduler(this.discovery.getProviders())) return [];
    const use = 'with this version of @nestjs/schedule. Use one that the README names.';
    if (this.leader.pausesJobs) return [`leader: jobs cannot be paused ${use}`];
    const ticked = this.#found.filter(({ bound }) => bound.schedule?.isCron && bound.settings.oncePerTick);
    return ticked.length === 0
      ? []
      : [`the ticks of ${names(ticked.map(({ bound }) => bound))} cannot be told ${use}`];
  }

  /** Whether all jobs can run here. If they cannot, and this instance led, they would run nowhere. */
  #runsJobs(): boolean {
    const { leader, lock } = this.module.settings;
    if (leader === undefined || lock.enabled === false) return true;
    const { options, jobs } = unmadeJobs(this.#wrappers(), this.#orchestrators, (prototype) =>
      new MetadataScanner().getAllMethodNames(prototype),
    );
    const notInElection = `This instance takes no part in the election "${leader.name}"`;
    if (jobs.length === 0) {
      if (this.leader.hasJobs) return true;
      const why = 'if it led now, the jobs of other instances would run nowhere';
      this.#logger.log(
        `${notInElection} until it has a scheduled job: ${why}. For other work use @LeaderElection().`,
      );
      return true;
    }
    const off = options.map((option) => `${option}: false`).join(', ');
    const why = this.#orchestrators.length === 0 ? 'no module imports it' : `it was given ${off}`;
    this.#logger.warn(
      `${notInElection}, and runs no scheduled job: ScheduleModule.forRoot() ` +
        `fires no ${names(jobs.map((job) => ({ job })))} here (${why}), which would run nowhere if this instance led.`,
    );
    return false;
  }

  #tellOfStart(): void {
    const jobs = this.#found.map((found) => {
      const { job, settings } = found.bound;
      return { job, scheduled: isFired(found), enabled: settings.enabled };
    });
    const { instanceId: instance, storeLabel: store } = this.locks;
    const line = startLine(jobs, { instance, store, leader: this.module.settings.leader?.name });
    if (line !== undefined) this.#logger.log(line);
  }

  #countModules(): number {
    const own = [...this.modules.values()].filter(({ providers }) => providers.has(MODULE_SETTINGS));
    return own.length;
  }

  #wrappers(): InstanceWrapper[] {
    return [...this.discovery.getControllers(), ...this.discovery.getProviders()];
  }

  #explore(wrapper: InstanceWrapper, problems: string[]): void {
    const { metatype } = wrapper;
    const prototype = wrapper.isNotMetatype ? undefined : (metatype?.prototype as object | undefined);
    const declared = prototype === undefined ? [] : lockedMethods(Object.create(prototype) as object);
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
    for (const method of lockedMethods(instance)) {
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
    const found = [
      ...unknownOptions(Object(election.options) as object, 'leader', ['name']),
      ...this.leader.declare(instance, election),
    ];
    problems.push(...found.map((problem) => `${instance.constructor.name}: @LeaderElection(): ${problem}`));
  }

  #check(instance: object, method: LockedMethod, problems: string[]): void {
    const { key, options } = method;
    const place = `${instance.constructor.name}.${String(key)}`;
    if (typeof options !== 'object' || options === null) {
      problems.push(`${place}: @SchedulerLock(${String(options)}): expected a name or options.`);
      return;
    }
    const { job = place, name = job, ...given } = options;
    const found = unknownOptions(options, 'decorator');
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
      found.push(BOUND_ALREADY);
    }
    const checked = checkLockOptions(given, this.module.settings);
    // Problems of the module's own options are reported elsewhere.
    found.push(...checked.problems.filter((problem) => !this.module.problems.includes(problem)));
    problems.push(...found.map((problem) => `${place}: ${problem}`));
    const outermost: unknown = Reflect.get(instance, key);
    const made = isScheduled(outermost) ? this.#made.claim(outermost, instance) : undefined;
    const schedule =
      isScheduled(outermost) && made !== undefined ? JobSchedule.of(outermost, made.cronTimes) : undefined;
    const state = made?.state ?? (() => 'started' as const);
    const fire = (start: JobStart): unknown =>
      isScheduled(outermost)
        ? this.leader.fire(job, start.tick, () => fireAgain(outermost, instance, key, start))
        : undefined;
    const bound = { job, name, settings: checked.settings, schedule, fire, state };
    this.#found.push({ instance, method, bound });
  }

  #bind(found: Found): void {
    const { instance, method, bound } = found;
    const { key } = method;
    const outermost: unknown = Reflect.get(instance, key);
    if (isScheduled(outermost)) markScheduled(outermost, key, outsideOfLocks);
    const kept = bind(instance, method, (proceed, args) =>
      this.interceptor.intercept(bound, args, scheduledCall(instance, key), proceed),
    );
    this.#methods.set(found, kept);
    this.#undo.push(kept.free);
  }
}

const BOUND_ALREADY =
  'this very instance is already bound by another application that has not been closed. Close that one first.';
