/*
 * lib/schedule: all that this library knows of `@nestjs/schedule` and `cron`. What is not public there is the same in the versions 4 to
 * 12 of the one and 3 and 4 of the other: tests pin it.
 * May not enter: imports of either (a copy of our own could be another one than the application's), and every other room.
 */

/** The kinds of jobs, as the scheduler names its records of them. A method has one: that of the decorator on top. */
const KINDS = ['cronJobs', 'intervals', 'timeouts'] as const;
type Kind = (typeof KINDS)[number];

/** The decorators, the metadata that each sets on a method, and what it writes as the type of the schedule. */
const DECORATORS: Readonly<
  Record<Kind, { readonly name: string; readonly key: string; readonly type: number }>
> = {
  cronJobs: { name: '@Cron()', key: 'SCHEDULE_CRON_OPTIONS', type: 1 },
  timeouts: { name: '@Timeout()', key: 'SCHEDULE_TIMEOUT_OPTIONS', type: 2 },
  intervals: { name: '@Interval()', key: 'SCHEDULE_INTERVAL_OPTIONS', type: 3 },
};
const TYPE = 'SCHEDULER_TYPE';

/** The options of `@Cron()` that matter here. */
export interface CronOptions {
  readonly cronTime?: string | Date | undefined;
  readonly timeZone?: string | undefined;
  readonly utcOffset?: number | undefined;
  readonly disabled?: boolean | undefined;
  readonly initialDelay?: number | undefined;
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** Whether `@nestjs/schedule` fires this method. */
export const isScheduled = (method: unknown): method is Method =>
  typeof method === 'function' && Reflect.hasMetadata(TYPE, method);

const isFiredAs = (kind: Kind, method: object): boolean =>
  Reflect.getMetadata(TYPE, method) === DECORATORS[kind].type;
const metadataOf = (kind: Kind, method: object): unknown => Reflect.getMetadata(DECORATORS[kind].key, method);
const optionsOf = <T>(kind: Kind, method: object): T | undefined =>
  isFiredAs(kind, method) ? (metadataOf(kind, method) as T) : undefined;

/** The options that `@Cron()` has set on a method that it fires: the very object that the scheduler keeps, too. */
export const cronOptionsOf = (method: object): CronOptions | undefined => optionsOf('cronJobs', method);

/** The options that `@Interval()` has set on a method that it fires. */
export const intervalOptionsOf = (method: object): { readonly timeout: number } | undefined =>
  optionsOf('intervals', method);

/** The longest time that the timers of Node keep, ms. They take a longer one for a millisecond. */
const MAX_TIMER = 2_147_483_647;

/** The decorator that fires a method, if it does so by a timer that Node does not keep. */
export function overlongTimerOf(method: object): string | undefined {
  const kind = (['intervals', 'timeouts'] as const).find(
    (kind) => (optionsOf<{ timeout: number }>(kind, method)?.timeout ?? 0) > MAX_TIMER,
  );
  return kind && DECORATORS[kind].name;
}

/**
 * The decorator that fires a method, and those that the scheduler leaves out because of it.
 *
 * @param below the method below the lock: of two decorators of one kind, the one on top replaces what the other has written
 */
export function schedulesOf(
  method: object,
  below: object,
): { readonly fires?: string; readonly leftOut: readonly string[] } {
  const kinds = KINDS.filter((kind) => metadataOf(kind, method) !== undefined);
  const fires = kinds.find((kind) => isFiredAs(kind, method));
  if (fires === undefined) return { leftOut: [] };
  const { name } = DECORATORS[fires];
  const leftOut = kinds.filter((kind) => kind !== fires).map((kind) => DECORATORS[kind].name);
  const other = metadataOf(fires, below);
  const isTwice = other !== undefined && other !== metadataOf(fires, method);
  return { fires: name, leftOut: isTwice ? [...leftOut, `another ${name}`] : leftOut };
}

/** The members of `CronTime` of the package `cron` that this library uses. It is that of the very job that fires, so both agree on every date. */
export interface CronTimeLike {
  readonly source: unknown;
  readonly timeZone?: string | undefined;
  readonly utcOffset?: number | undefined;
  readonly realDate: boolean;
  getNextDateFrom(start: Date, timeZone?: string): { toMillis(): number };
  /** The next date, in the zone in which `cron` counts. */
  sendAt(): { readonly zoneName: string | null };
}

/**
 * The members of a `CronJob` of the package `cron` that control it. `SchedulerRegistry.getCronJob()` returns the very same object
 * with all its types.
 */
export interface ScheduledCronJob {
  readonly cronTime: CronTimeLike;
  start(): void;
  /** Stops the job. Dates that come meanwhile are missed: neither `catchUp` nor `rerun` runs them. */
  stop(): unknown;
  /** Gives the job another `CronTime`. */
  setTime(time: object): void;
  /** Runs the job now, by hand: whenever its lock is free, without a tick. */
  fireOnTick(): unknown;
  /** When its timer last fired the job, on this instance. */
  lastDate(): Date | null;
  nextDate(): { toMillis(): number; toJSDate(): Date };
}

/** A `CronJob`, with the members that only this library uses. */
export interface CronJobLike extends ScheduledCronJob {
  /** Whether it is started: `isActive` from version 4 of `cron` on, `running` before. */
  readonly isActive?: boolean;
  readonly running?: boolean;
  readonly waitForCompletion?: boolean;
  fireOnTick(this: unknown, ...args: unknown[]): unknown;
}

/** The members of `SchedulerRegistry` that this library uses. */
interface JobRegistry {
  getCronJobs(): ReadonlyMap<string, CronJobLike>;
  addCronJob(name: string, job: CronJobLike): void;
  getIntervals(): string[];
  getInterval(name: string): unknown;
  addInterval(name: string, handle: unknown): void;
  getTimeouts(): string[];
  addTimeout(name: string, handle: unknown): void;
}

/** One decorated method, as the scheduler keeps it. */
export interface JobRecord {
  target: (...args: unknown[]) => unknown;
  /** Those of its decorator: the very same object. */
  readonly options?: unknown;
  /** The handle of its timer, or its cron job. Absent until it is made. */
  readonly ref?: unknown;
}
export type JobRecords = Record<string, JobRecord>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether the application has given a job its name. The scheduler gives each one without a name a UUID, another at each start. */
export const isNamed = (job: string): boolean => !UUID.test(job);

/**
 * The members of `SchedulerOrchestrator` that this library uses: it makes the jobs of decorated methods. If it is not found, the
 * application does not start: otherwise its jobs would run on every instance.
 */
export interface JobOrchestrator {
  readonly schedulerRegistry: JobRegistry;
  readonly cronJobs: JobRecords;
  readonly intervals: JobRecords;
  readonly timeouts: JobRecords;
  mountCron(): void;
  mountIntervals(): void;
}

const METHODS = 'mountCron mountIntervals'.split(' ');
const REGISTRY_METHODS =
  'getCronJobs addCronJob getIntervals getInterval addInterval getTimeouts addTimeout'.split(' ');

/** Recognises `SchedulerOrchestrator` by its members, as it has no public name. */
function isOrchestrator(instance: unknown): instance is JobOrchestrator {
  try {
    const registry = isObject(instance) && instance['schedulerRegistry'];
    return (
      isObject(instance) &&
      isObject(registry) &&
      KINDS.every((name) => isObject(instance[name])) &&
      METHODS.every((name) => typeof instance[name] === 'function') &&
      REGISTRY_METHODS.every((name) => typeof registry[name] === 'function')
    );
  } catch {
    // A proxy that throws on properties that it does not know.
    return false;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

/** A copy of an orchestrator that mounts only the jobs in these parts. */
export function overlay(orchestrator: JobOrchestrator, parts: Partial<JobOrchestrator>): JobOrchestrator {
  const prototype = Object.getPrototypeOf(orchestrator) as object;
  return Object.assign(Object.create(prototype) as JobOrchestrator, orchestrator, parts);
}

/** The handle of an interval; `undefined` if the registry has none of this name. A list of all names would cost more. */
export function intervalOf(registry: JobRegistry, name: string): unknown {
  try {
    return registry.getInterval(name);
  } catch {
    return undefined;
  }
}

/** The members of Nest's `InstanceWrapper` of a provider or a controller that matter here. */
interface Wrapper {
  readonly instance: unknown;
  /** The module that it belongs to. */
  readonly host?: { readonly name?: string } | undefined;
  isDependencyTreeStatic(): boolean;
}

/** The orchestrators that fire the jobs of this application: one for each `ScheduleModule.forRoot()`, and each fires all decorated methods. */
export const orchestratorsAmong = (providers: readonly Wrapper[]): JobOrchestrator[] => [
  ...new Set(providers.map(({ instance }) => instance).filter(isOrchestrator)),
];

/** Whether a `ScheduleModule` has a registry; if no orchestrator was found, its version is unknown to this library. */
export const isUnknownScheduler = (providers: readonly Wrapper[]): boolean =>
  providers.some(
    ({ host, instance }) =>
      host?.name === 'ScheduleModule' && isObject(instance) && typeof instance['addCronJob'] === 'function',
  );

/** Decorated methods for which the scheduler makes no jobs, with the options that switch them off. @param methodNames Nest's own search */
export function unmadeJobs(
  wrappers: readonly Wrapper[],
  orchestrators: readonly JobOrchestrator[],
  methodNames: (prototype: object) => readonly string[],
): { options: string[]; jobs: string[] } {
  const kinds = KINDS.filter((kind) =>
    orchestrators.every((orchestrator) => Object.keys(orchestrator[kind]).length === 0),
  );
  const [options, jobs] = [new Set<string>(), new Set<string>()];
  for (const wrapper of wrappers) {
    const { instance } = wrapper;
    // Like the scheduler, skips providers that are not static.
    if (typeof instance !== 'object' || instance === null || !wrapper.isDependencyTreeStatic()) continue;
    const prototype = Object.getPrototypeOf(instance) as object | null;
    for (const key of kinds.length === 0 || prototype === null ? [] : methodNames(prototype)) {
      const method: unknown = Reflect.get(instance, key);
      const kind = kinds.find((one) => typeof method === 'function' && isFiredAs(one, method));
      if (kind === undefined) continue;
      options.add(kind);
      jobs.add(`${instance.constructor.name}.${key}`);
    }
  }
  return { options: [...options], jobs: [...jobs] };
}
