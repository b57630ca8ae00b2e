import { isOrchestrator, type JobOrchestrator } from './scheduler-parts.js';

/** What Nest's `InstanceWrapper` tells of a provider or a controller, as far as it matters here. */
export interface Wrapper {
  readonly instance: unknown;
  /** The module that it belongs to. */
  readonly host?: { readonly name?: string } | undefined;
  isDependencyTreeStatic(): boolean;
}

/** The kinds of jobs of `@nestjs/schedule`: the option that switches a kind off, and the metadata of its decorator. */
const KINDS = [
  { option: 'cronJobs', metadata: 'SCHEDULE_CRON_OPTIONS' },
  { option: 'intervals', metadata: 'SCHEDULE_INTERVAL_OPTIONS' },
  { option: 'timeouts', metadata: 'SCHEDULE_TIMEOUT_OPTIONS' },
] as const;

/**
 * The orchestrators that fire the jobs of this application, recognised by their members: this library never imports
 * `@nestjs/schedule`. NestJS makes one for each `ScheduleModule.forRoot()`, and each of them fires all decorated methods.
 */
export function orchestratorsAmong(providers: readonly Wrapper[]): JobOrchestrator[] {
  const instances = providers.map(({ instance }) => instance);
  return [...new Set(instances.filter(isOrchestrator))];
}

/** Whether there is a `ScheduleModule`, complete or not. */
export function hasScheduler(providers: readonly Wrapper[]): boolean {
  return providers.some(({ host }) => host?.name === 'ScheduleModule');
}

/** Whether a `ScheduleModule` has a registry; if no orchestrator was found, its version is unknown to this library. */
export function isUnknownScheduler(providers: readonly Wrapper[]): boolean {
  return providers.some(({ host, instance }) => host?.name === 'ScheduleModule' && isRegistry(instance));
}

/**
 * Decorated methods for which the scheduler makes no jobs, with the options that switch them off.
 *
 * @param methodNames the names of all methods of a prototype: Nest's own search
 */
export function unmadeJobs(
  wrappers: readonly Wrapper[],
  orchestrators: readonly JobOrchestrator[],
  methodNames: (prototype: object) => readonly string[],
): { options: string[]; jobs: string[] } {
  const kinds = KINDS.filter(({ option }) =>
    orchestrators.every((orchestrator) => Object.keys(orchestrator[option]).length === 0),
  );
  const [options, jobs] = [new Set<string>(), new Set<string>()];
  for (const wrapper of wrappers) {
    const { instance } = wrapper;
    // Like the scheduler, skips providers that are not static.
    if (typeof instance !== 'object' || instance === null || !wrapper.isDependencyTreeStatic()) continue;
    const prototype = Object.getPrototypeOf(instance) as object | null;
    for (const key of kinds.length === 0 || prototype === null ? [] : methodNames(prototype)) {
      const method: unknown = Reflect.get(instance, key);
      if (typeof method !== 'function') continue;
      for (const { option, metadata } of kinds) {
        if (!Reflect.hasMetadata(metadata, method)) continue;
        options.add(option);
        jobs.add(`${instance.constructor.name}.${key}`);
      }
    }
  }
  return { options: [...options], jobs: [...jobs] };
}

function isRegistry(instance: unknown): boolean {
  const registry = instance as Partial<Record<'getCronJobs' | 'addCronJob', unknown>> | null | undefined;
  return typeof registry?.getCronJobs === 'function' && typeof registry.addCronJob === 'function';
}
