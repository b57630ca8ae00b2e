import { type Found, isFired, knownNames, type BoundJob } from './bound-job.js';
import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import {
  type DeclaredElection,
  declaredElection,
  type LeaderHooks,
} from './decorators/leader-election.decorator.js';
import { bind, identityOf, type LockedMethod, lockedMethods } from './decorators/locked-method.js';
import { SchedulerLockConfigError } from '../base/errors.js';
import { outsideOfLocks } from '../lock/current-lock.js';
import { mayWait } from '../lock/lock-call.js';
import { checkElection, ofModule } from './options/check.js';
import { CronJobState } from '../schedule/cron-job-state.js';
import { JobSchedule } from '../schedule/job-schedule.js';
import { fireAgain, markByHand, markScheduled } from '../schedule/scheduled-call.js';
import {
  isScheduled,
  isUnknownScheduler,
  type JobOrchestrator,
  orchestratorsAmong,
  unmadeJobs,
} from '../schedule/scheduler-parts.js';
import { storeLabel } from '../lock/access/safe-store.js';
import { DynamicJobs } from './dynamic-jobs.js';
import { LeaderJobs } from './leader-jobs.js';
import { LockHost } from './lock-host.js';
import { MODULE_SETTINGS } from './module-definition.js';
import { readMethod } from './method-options.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import {
  names,
  sharedLocks,
  startLine,
  startWarnings,
  tellOf,
  tellOfHooks,
  withoutZone,
} from './start-warnings.js';

type InstanceWrapper = ReturnType<DiscoveryService['getProviders']>[number];

/**
 * Finds the guarded methods of the application, checks their options, and binds each instance's method to the interceptor. If
 * anything is misconfigured, in the module or in any decorator, it stops the start with one message.
 */
@Injectable()
export class SchedulerLockExplorer implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger('SchedulerLock');
  readonly #undo: (() => void)[] = [];
  readonly #seen = new Set<object>();
  /** Other proxies around the objects that were seen: where providers are wrapped, so are their aliases. */
  readonly #aliases: object[] = [];
  readonly #found: Found[] = [];
  #orchestrators: readonly JobOrchestrator[] = [];
  readonly #made = new CronJobState(() => this.#orchestrators);

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly host: LockHost,
    private readonly interceptor: SchedulerLockInterceptor,
    private readonly leader: LeaderJobs,
    private readonly dynamic: DynamicJobs,
  ) {
    // Runs before the first timer can fire, so jobs that a constructor has made are behind the gate in time.
    if (leader.election !== undefined)
      process.nextTick(() => leader.guard(orchestratorsAmong(discovery.getProviders())));
  }

  async onModuleInit(): Promise<void> {
    const { elections } = this.host;
    const modules = this.discovery.getProviders().filter(({ token }) => token === MODULE_SETTINGS);
    const problems = ofModule([...this.host.problems, ...(modules.length > 1 ? [TWICE] : [])]);
    for (const wrapper of this.#wrappers()) problems.push(...this.#explore(wrapper));
    problems.push(...this.dynamic.jobs.meet(this.#found));
    this.#orchestrators = orchestratorsAmong(this.discovery.getProviders());
    problems.push(...ofModule(this.#unknownScheduler()));
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    this.leader.guard(this.#orchestrators);
    await this.host.start();
    const isInLine = ({ bound }: Found): boolean => bound.queue !== undefined || mayWait(bound.settings);
    await this.host.startQueues(elections.declaredAt.size > 0 || this.#found.some(isInLine));
    await this.host.checkNames(knownNames(this.#found, elections.declaredAt));
    for (const found of this.#found) this.#bind(found);
    for (const alias of this.#aliases) for (const { key } of lockedMethods(alias)) markFired(alias, key);
  }

  /** The scheduler has looked up its methods by now: from here on, code that looks one up calls it by hand. */
  onApplicationBootstrap(): void {
    // A scheduler whose hooks run after ours has found its methods meanwhile, and makes their timers next.
    this.leader.guard(this.#orchestrators);
    const cannotLead = this.#cannotLead();
    this.#tellOfStart(cannotLead);
    for (const found of this.#found) {
      if (isFired(found)) this.#undo.push(markByHand(found.instance, found.method.key));
    }
    for (const job of this.dynamic.jobs.all) this.leader.catchUp(job);
    this.dynamic.start();
    const { history, remembers, settings } = this.host;
    this.host.queues.start(history !== undefined && remembers && settings.insight?.beat === 'with-ticks');
    if (this.host.settings.given.enabled === false) return;
    this.host.elections.start(this.leader.election);
    if (cannotLead === undefined) this.leader.standBy();
  }

  /** From now on another application may bind these instances; until one does, calls are skipped as `shutting-down`. */
  onModuleDestroy(): void {
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** Problems if no known scheduler was found: without one, ticks would be lost and jobs would run on standbys, silently. */
  #unknownScheduler(): string[] {
    if (this.#orchestrators.length > 0 || !isUnknownScheduler(this.discovery.getProviders())) return [];
    const use = 'with this version of @nestjs/schedule. Use one that the README names.';
    if (this.leader.election !== undefined)
      return [`leader: standbys cannot be kept from running jobs ${use}`];
    const ticked = this.#found.filter(({ bound }) => bound.schedule?.isCron && bound.settings.oncePerTick);
    return ticked.length === 0
      ? []
      : [`the ticks of ${names(ticked.map(({ bound }) => bound.job))} cannot be known ${use}`];
  }

  /** Why not all jobs can run here: if this instance led, they would run nowhere. */
  #cannotLead(): string | undefined {
    if (this.leader.election === undefined || this.host.settings.given.enabled === false) return undefined;
    const { options, jobs } = unmadeJobs(this.#wrappers(), this.#orchestrators, (prototype) =>
      new MetadataScanner().getAllMethodNames(prototype),
    );
    const notInElection = `This instance takes no part in the election "${this.leader.election}"`;
    if (jobs.length === 0) {
      if (this.leader.hasJobs) return undefined;
      const why = 'if it led now, the jobs of other instances would run nowhere';
      this.#logger.log(
        `${notInElection} until it has a scheduled job: ${why}. For other work use @LeaderElection().`,
      );
      return undefined;
    }
    const off = options.map((option) => `${option}: false`).join(', ');
    const why = this.#orchestrators.length === 0 ? 'no module imports it' : `it was given ${off}`;
    return (
      `${notInElection}, and runs no scheduled job: ScheduleModule.forRoot() ` +
      `fires no ${names(jobs)} here (${why}), which would run nowhere if this instance led.`
    );
  }

  /** Logs what is wrong, in one message, and what is guarded. */
  #tellOfStart(cannotLead: string | undefined): void {
    const { jobs } = this.dynamic;
    const ofMethods = startWarnings(this.#found, this.#orchestrators.length > 0);
    const ofJobs = [cannotLead, withoutZone(jobs.all), sharedLocks(jobs.all)];
    tellOf([...this.host.warnings, ...ofMethods, ...ofJobs.flatMap((problem) => problem ?? [])]);
    this.#undo.push(tellOfHooks(jobs.all, this.host.settings.clock));

    const { settings, store } = this.host;
    const where = { instance: settings.instanceId, store: storeLabel(store), leader: this.leader.election };
    const [fired, others] = [true, false].map((is) =>
      this.#found.filter((found) => isFired(found) === is).map(({ bound }) => bound),
    );
    const line = startLine([...(fired ?? []), ...jobs.made], others ?? [], where);
    if (line !== undefined) this.#logger.log(line);
  }

  #wrappers(): InstanceWrapper[] {
    return [...this.discovery.getControllers(), ...this.discovery.getProviders()];
  }

  /** @returns the problems of a provider or controller */
  #explore(wrapper: InstanceWrapper): string[] {
    if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
      const { metatype, isNotMetatype } = wrapper;
      return isNotMetatype || !metatype?.prototype ? [] : comesAndGoes(metatype);
    }
    const instance: unknown = wrapper.instance;
    if (typeof instance !== 'object' || instance === null) return [];
    return this.#exploreInstance(instance);
  }

  #exploreInstance(instance: object): string[] {
    const methods = lockedMethods(instance);
    const election = declaredElection(instance.constructor);
    if ((methods.length === 0 && election === undefined) || this.#isAlias(instance)) return [];
    const ofMethods = methods.map((method) => this.#check(instance, method));
    return [...this.#elect(instance, election), ...ofMethods.flat()];
  }

  /** An alias (useExisting) shows the same object again. */
  #isAlias(instance: object): boolean {
    const identity = identityOf(instance);
    const isKnown = this.#seen.has(identity);
    if (isKnown) this.#aliases.push(instance);
    else this.#seen.add(identity);
    return isKnown;
  }

  #elect(instance: object, election: DeclaredElection | undefined): string[] {
    if (election === undefined) return [];
    const { name, options } = election;
    const leader = instance as LeaderHooks;
    const where = instance.constructor.name;
    const problems: string[] = [];
    const missing = (['onElected', 'onRevoked'] as const).filter(
      (hook) => typeof leader[hook] !== 'function',
    );
    if (missing.length > 0) problems.push(...missing.map((hook) => `it has no method ${hook}().`));
    else {
      const checked = checkElection('election', name, options, this.host.settings);
      const clash = this.host.elections.add(where, checked.settings, {
        elected: (lease) => leader.onElected(lease),
        revoked: (reason) => leader.onRevoked(reason),
      });
      problems.push(...checked.problems, ...clash);
    }
    return problems.map((problem) => `${where}: @LeaderElection(): ${problem}`);
  }

  #check(instance: object, method: LockedMethod): readonly string[] {
    const { key } = method;
    const { facts, problems } = readMethod(instance, method, this.host);
    if (facts === undefined) return problems;
    const call = (args: readonly unknown[]): unknown => Reflect.apply(method.method, instance, args);
    const bound = { ...facts, ...this.#firing(instance, key, facts.job), call };
    this.#found.push({ instance, method, bound });
    return problems;
  }

  /** How the scheduler fires a method, if it does. */
  #firing(
    instance: object,
    key: string | symbol,
    job: string,
  ): Pick<BoundJob, 'schedule' | 'state' | 'fire'> {
    const outermost: unknown = Reflect.get(instance, key);
    if (!isScheduled(outermost)) {
      return { schedule: undefined, state: () => 'started', fire: () => undefined };
    }
    const { state, cronTimes } = this.#made.claim(outermost, instance);
    return {
      schedule: JobSchedule.of(outermost, cronTimes),
      state,
      fire: (start) => this.leader.fire(job, start.tick, () => fireAgain(outermost, instance, key, start)),
    };
  }

  #bind({ instance, method, bound }: Found): void {
    const { key } = method;
    markFired(instance, key);
    this.#undo.push(bind(instance, method, this.interceptor.binding(bound, instance, key)));
    this.host.addQueueJob(bound);
  }
}

function markFired(instance: object, key: string | symbol): void {
  const outermost: unknown = Reflect.get(instance, key);
  if (isScheduled(outermost)) markScheduled(outermost, key, outsideOfLocks);
}

function comesAndGoes({ name, prototype }: { readonly name: string; readonly prototype: object }): string[] {
  const why =
    'on a request-scoped or transient provider (it is so by itself, or by what it injects). Its instances come and go';
  const problems = lockedMethods(Object.create(prototype) as object).map(
    ({ key }) =>
      `${name}.${String(key)}: @SchedulerLock() ${why}, and the scheduler does not fire their methods. ` +
      'Move the method to a provider with the default scope.',
  );
  if (declaredElection(prototype.constructor) === undefined) return problems;
  return [`${name}: @LeaderElection() ${why}. Use a provider with the default scope.`, ...problems];
}

const TWICE = 'it is imported more than once. Call forRoot() or forRootAsync() once, in the root module.';
