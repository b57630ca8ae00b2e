import type { JobStart } from '../base/job-start.js';
import { pastTicksFor, ticksFor } from './cron-ticks.js';
import { type CronTimeClass, together } from './tick-finder.js';
import { cronOptionsOf, type CronOptions, type CronTimeLike, intervalOptionsOf } from './scheduler-parts.js';

/** The schedule of one job: of a decorated method, read from the metadata of `@Cron()` and `@Interval()`, or of a dynamic one. */
export class JobSchedule {
  private constructor(
    private readonly cron: CronOptions | undefined,
    /** Milliseconds between two runs of an interval; `undefined` for a cron job. */
    readonly every: number | undefined,
    private readonly cronTimes: () => readonly CronTimeLike[],
    /** When the job was made, monotonic; absent for a job that is made with the instance. */
    readonly madeAt?: number,
    /** Whether a dynamic job has a zone of its own, and not that of the machine. */
    private readonly zoned = false,
  ) {}

  /**
   * @param cronTimes the current `CronTime` of each cron job that the scheduler has made from the method
   * @returns `undefined` for a method that is fired neither by `@Cron()` nor by `@Interval()`
   */
  static of(method: object, cronTimes: () => readonly CronTimeLike[]): JobSchedule | undefined {
    const [cron, interval] = [cronOptionsOf(method), intervalOptionsOf(method)];
    if (cron !== undefined) return new JobSchedule(cron, undefined, cronTimes);
    return interval === undefined
      ? undefined
      : new JobSchedule(undefined, wholeMilliseconds(interval.timeout), cronTimes);
  }

  /** The schedule of a dynamic cron job. */
  static ofCron(options: CronOptions, cronTimes: () => readonly CronTimeLike[], madeAt: number): JobSchedule {
    const zoned = options.timeZone !== undefined || options.utcOffset !== undefined;
    return new JobSchedule(options, undefined, cronTimes, madeAt, zoned);
  }

  /** @param timeout whole milliseconds */
  static ofInterval(timeout: number, madeAt: number): JobSchedule {
    return new JobSchedule(undefined, timeout, () => [], madeAt);
  }

  /** The start that a call fired at `now` belongs to, epoch milliseconds by this machine's clock. */
  startAt(now: number): JobStart {
    if (this.every !== undefined) return { interval: this.every };
    let start: JobStart = {};
    // If several cron jobs fire the method, its ticks are the dates of all of them.
    for (const cronTime of this.cronTimes()) {
      const ticks = ticksFor(cronTime);
      const tick = ticks.newest(now) ?? -Infinity;
      if (tick > (start.tick ?? -Infinity)) start = { tick, schedule: ticks.schedule };
    }
    return this.zoned && start.schedule !== undefined ? { ...start, meant: true } : start;
  }

  /** The class of its dates, if it has any. */
  get cronTimeClass(): CronTimeClass | undefined {
    return this.cronTimes()[0]?.constructor as CronTimeClass | undefined;
  }

  /** The expression and the zone of each cron job that fires it. */
  get texts(): { readonly expression: string; readonly zone: string }[] {
    return this.cronTimes().map((cronTime) => ticksFor(cronTime));
  }

  /** Whether this is a cron job that the scheduler has made, or will make. */
  get isCron(): boolean {
    return this.cron !== undefined && this.cron.disabled !== true;
  }

  /** Whether the zone of the process decides when this cron job runs. */
  get isZoneless(): boolean {
    const { cronTime, timeZone, utcOffset } = this.cron ?? {};
    return this.isCron && timeZone === undefined && utcOffset === undefined && hasTimeOfDay(cronTime);
  }

  /** Whether its cron job is not known yet: `cron` fires a job that it makes too late before that job is registered. */
  get isBeingMade(): boolean {
    return this.cron !== undefined && this.cronTimes().length === 0;
  }

  /** How long after its own start the scheduler begins to fire the job, milliseconds. */
  get initialDelay(): number {
    return Math.max(0, this.cron?.initialDelay ?? 0);
  }

  /** The first date of a cron job after `now`, epoch milliseconds, or Infinity. */
  next(now: number): number {
    return together(this.cronTimes().map(ticksFor)).next(now);
  }

  /** The newest date of a cron job not after a time in the past, epoch milliseconds. */
  newestBefore(at: number): number | undefined {
    return together(this.cronTimes().map(pastTicksFor)).newest(at);
  }

  /** The first date of a cron job after a time in the past, or Infinity. */
  nextAfter(at: number): number {
    return together(this.cronTimes().map(pastTicksFor)).next(at);
  }
}

/** Whether an expression names hours, days or months; `*` for all of them is the same in each zone. */
function hasTimeOfDay(expression: unknown): boolean {
  if (typeof expression !== 'string') return false;
  if (expression.startsWith('@')) return !/^@(secondly|minutely|hourly|every_second)$/.test(expression);
  const fields = expression.trim().split(/\s+/);
  return fields.slice(fields.length - 4).some((field) => !/^[*?]$/.test(field));
}

/** Rounds as Node's `setInterval()` does. */
const wholeMilliseconds = (timeout: number): number => Math.max(1, Math.trunc(timeout) || 1);
