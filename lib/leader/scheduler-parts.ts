/** What is needed of a `CronJob` of the package `cron`. */
export interface CronJobLike {
  readonly cronTime: { readonly realDate: boolean };
  /** Whether it is started: `isActive` from cron 4 on, `running` before. */
  readonly isActive?: boolean;
  readonly running?: boolean;
  start(): void;
  stop(): unknown;
  setTime(time: never): void;
  fireOnTick(this: unknown, ...args: unknown[]): unknown;
}

/** What is needed of `SchedulerRegistry` of `@nestjs/schedule`. */
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
 * What is needed of `SchedulerOrchestrator` of `@nestjs/schedule`, which makes the jobs of decorated methods. It is not
 * public, and has been so from version 4 to 12: tests pin it. Without it no start, rather than jobs that are not paused.
 */
export interface JobOrchestrator {
  readonly cronJobs: JobRecords;
  readonly intervals: JobRecords;
  readonly timeouts: JobRecords;
  mountIntervals(): void;
  mountTimeouts(): void;
  onApplicationBootstrap(): void;
}

/** `SchedulerOrchestrator` is told by what it has, as it has no public name. */
export function isOrchestrator(instance: unknown): instance is JobOrchestrator {
  if (typeof instance !== 'object' || instance === null) return false;
  const { cronJobs, intervals, timeouts, mountIntervals, mountTimeouts, onApplicationBootstrap } =
    instance as Partial<Record<keyof JobOrchestrator, unknown>>;
  const records = [cronJobs, intervals, timeouts];
  const methods = [mountIntervals, mountTimeouts, onApplicationBootstrap];
  return (
    records.every((record) => typeof record === 'object' && record !== null) &&
    methods.every((method) => typeof method === 'function')
  );
}
