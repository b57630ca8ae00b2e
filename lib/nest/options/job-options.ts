import type { Lock } from '../../lock/current-lock.js';
import type { LockOptions } from './lock-options.js';
import type { SchedulerLockOptions } from './options.js';

/** Options of `SchedulerLockService.interval()`. */
export interface IntervalJobOptions
  extends Omit<LockOptions, 'onSkip' | 'rerun' | 'catchUp' | 'spread'>, Pick<SchedulerLockOptions, 'expect'> {
  /**
   * Name of the lock. Jobs that must not run side by side share a name.
   *
   * @default the job
   */
  readonly lock?: string | undefined;
  /**
   * Whether the store remembers its runs (see `insight` of the module).
   *
   * @default on
   */
  readonly history?: boolean | undefined;
}

/** Options of `SchedulerLockService.cron()`. */
export interface CronJobOptions
  extends
    IntervalJobOptions,
    Pick<LockOptions, 'rerun' | 'catchUp' | 'spread'>,
    Pick<SchedulerLockOptions, 'retry'> {
  /**
   * Zone of the expression, such as `'Europe/Berlin'`. Give it, so that all instances agree on its dates.
   *
   * @default the zone of the machine
   */
  readonly timeZone?: string | undefined;
  /**
   * What `cron` is given besides. A job that is `disabled` is started by its `start()`.
   *
   * @default that of `@Cron()`
   */
  readonly cron?: CronParameters | undefined;
}

/** Parameters of the package `cron`, as `@Cron()` takes them. */
interface CronParameters {
  /** Minutes ahead of UTC, instead of `timeZone`. */
  readonly utcOffset?: number | undefined;
  /** The timer does not keep the process alive. */
  readonly unrefTimeout?: boolean | undefined;
  /** A date that comes while the job runs on this instance is not fired. */
  readonly waitForCompletion?: boolean | undefined;
  /** The job is made, but not started. */
  readonly disabled?: boolean | undefined;
  /** How late a busy process may be, in milliseconds, and still fire a date. */
  readonly threshold?: number | undefined;
}

/** The function of a dynamic job. */
export type DynamicJob = (lock: Lock) => unknown;
