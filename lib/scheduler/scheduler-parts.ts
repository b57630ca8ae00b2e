/** The members of a `CronJob` of the package `cron` that this library uses. */
export interface CronJobLike {
  readonly cronTime: { readonly realDate: boolean };
  /** Whether it is started: `isActive` from cron 4 on, `running` before. */
  readonly isActive?: boolean;
  readonly running?: boolean;
  /** `stop()` calls it: at once, or, with `waitForCompletion`, when the job has ended. */
  onComplete?: unknown;
  waitForCompletion?: boolean;
  /** The functions that `fireOnTick()` calls. Not public, but the same in cron 3 and 4: tests pin it. */
  _callbacks?: unknown[];
  start(): void;
  stop(): unknown;
  setTime(time: never): void;
  fireOnTick(this: unknown, ...args: unknown[]): unknown;
  addCallback(callback: unknown): void;
  /** When its timer fired last. */
  lastDate(): unknown;
}

/** The members of `SchedulerRegistry` of `@nestjs/schedule` that this library uses. */
export interface JobRegistry {
  getCronJobs(): ReadonlyMap<string, CronJobLike>;
  addCronJob(name: string, job: CronJobLike): void;
  getIntervals(): string[];
  getInterval(name: string): unknown;
  addInterval(name: string, handle: unknown): void;
  deleteInterval(name: string): void;
  getTimeouts(): string[];
  getTimeout(name: string): unknown;
  addTimeout(name: string, handle: unknown): void;
  deleteTimeout(name: string): void;
}

/** One decorated method, as the scheduler keeps it. */
export interface JobRecord {
  target: (...args: unknown[]) => unknown;
  /** The handle of its timer. */
  readonly ref?: unknown;
}
export type JobRecords = Record<string, JobRecord>;

/**
 * The members of `SchedulerOrchestrator` of `@nestjs/schedule` that this library uses. That class makes the jobs of
 * decorated methods. It is not public, but the same from version 4 to 12: tests pin it. If it is not found, the application
 * does not start: otherwise its jobs would not be paused.
 */
export interface JobOrchestrator {
  readonly schedulerRegistry: JobRegistry;
  readonly cronJobs: JobRecords;
  readonly intervals: JobRecords;
  readonly timeouts: JobRecords;
  mountCron(): void;
  mountIntervals(): void;
  mountTimeouts(): void;
  onApplicationBootstrap(): void;
}

const RECORDS = ['cronJobs', 'intervals', 'timeouts'] as const;
const METHODS = ['mountCron', 'mountIntervals', 'mountTimeouts', 'onApplicationBootstrap'] as const;
const REGISTRY_METHODS = [
  'getCronJobs',
  'addCronJob',
  'getIntervals',
  'getInterval',
  'addInterval',
  'deleteInterval',
  'getTimeouts',
  'getTimeout',
  'addTimeout',
  'deleteTimeout',
] as const;

/**
 * Recognises `SchedulerOrchestrator` by its members, as it has no public name. The registry is taken from it, not looked
 * up: other objects with methods to add and get jobs belong to the application.
 */
export function isOrchestrator(instance: unknown): instance is JobOrchestrator {
  try {
    return hasParts(instance);
  } catch {
    // A proxy that throws on properties that it does not know.
    return false;
  }
}

function hasParts(instance: unknown): boolean {
  if (typeof instance !== 'object' || instance === null) return false;
  const parts = instance as Partial<Record<keyof JobOrchestrator, unknown>>;
  const { schedulerRegistry } = parts;
  if (typeof schedulerRegistry !== 'object' || schedulerRegistry === null) return false;
  const registry = schedulerRegistry as Partial<Record<keyof JobRegistry, unknown>>;
  return (
    RECORDS.every((name) => typeof parts[name] === 'object' && parts[name] !== null) &&
    METHODS.every((name) => typeof parts[name] === 'function') &&
    REGISTRY_METHODS.every((name) => typeof registry[name] === 'function')
  );
}

/** The orchestrator with these parts in place of its own: it mounts only the jobs in them. */
export function overlay(orchestrator: JobOrchestrator, parts: Partial<JobOrchestrator>): JobOrchestrator {
  return Object.assign(Object.create(orchestrator) as JobOrchestrator, parts);
}
