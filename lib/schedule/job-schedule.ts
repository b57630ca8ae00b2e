import type { JobStart } from '../job-start.js';
import { type CronTimeLike, localZone } from './cron-dates.js';
import { CronTicks } from './cron-ticks.js';

/** What is needed of a job in the registry of `@nestjs/schedule`. */
interface RegisteredJob {
  readonly cronTime: CronTimeLike;
}

/** Gives the cron jobs of the scheduler by name; called when the first one is needed. */
export type CronJobs = () => ReadonlyMap<string, RegisteredJob>;

/** What `@Cron()` notes on a method. */
interface CronOptions {
  readonly cronTime: unknown;
  readonly name?: string;
  readonly timeZone?: string;
  readonly utcOffset?: number;
  readonly disabled?: boolean;
  readonly initialDelay?: number;
}

/** Jobs that share their dates search for them once: those of one expression without a name. A leader asks for all at once. */
const ticksOf = new WeakMap<CronTimeLike, CronTicks>();

/** The schedule of one decorated method, read from what `@Cron()` and `@Interval()` have noted on it. */
export class JobSchedule {
  private constructor(
    private readonly cron: CronOptions | undefined,
    private readonly interval: number | undefined,
    private readonly jobs: CronJobs,
  ) {}

  /** @returns `undefined` for a method that is fired neither by `@Cron()` nor by `@Interval()` */
  static of(method: object, jobs: CronJobs): JobSchedule | undefined {
    const cron = Reflect.getMetadata('SCHEDULE_CRON_OPTIONS', method) as CronOptions | undefined;
    const interval = Reflect.getMetadata('SCHEDULE_INTERVAL_OPTIONS', method) as
      { timeout: number } | undefined;
    if (cron === undefined && interval === undefined) return undefined;
    return new JobSchedule(cron, cron === undefined ? interval?.timeout : undefined, jobs);
  }

  /** The start that a call fired at `now` belongs to, epoch milliseconds by this machine's clock. */
  startAt(now: number): JobStart {
    if (this.interval !== undefined) return { interval: this.interval };
    const ticks = this.#current();
    const tick = ticks?.newest(now);
    return ticks === undefined || tick === undefined ? {} : { tick, schedule: ticks.schedule };
  }

  /** Whether this is a cron job that the scheduler has made, or is still to make. */
  get isCron(): boolean {
    return this.cron !== undefined && this.cron.disabled !== true;
  }

  /** How long after its own start the scheduler begins to fire it, milliseconds. */
  get initialDelay(): number {
    return Math.max(0, this.cron?.initialDelay ?? 0);
  }

  /** Looks up ahead of time what the next call will need. */
  prepare(now: number): void {
    this.#current()?.newest(now);
  }

  #current(): CronTicks | undefined {
    const cronTime = this.cron === undefined ? undefined : findCronTime(this.cron, this.jobs());
    if (cronTime === undefined) return undefined;
    const known = ticksOf.get(cronTime);
    if (known !== undefined) return known;
    const ticks = new CronTicks(cronTime);
    ticksOf.set(cronTime, ticks);
    return ticks;
  }
}

/**
 * The dates of a job, from the job itself if it has a name (somebody may have given it other times), or else from any
 * job of the same expression and zone: they have the same dates.
 */
function findCronTime(cron: CronOptions, jobs: ReadonlyMap<string, RegisteredJob>): CronTimeLike | undefined {
  if (cron.name !== undefined) return jobs.get(cron.name)?.cronTime;
  let known: string | undefined;
  // To ask for it costs tens of microseconds: at most once, among however many jobs.
  const local = (): string => (known ??= localZone());
  for (const { cronTime } of jobs.values()) if (isSame(cron, cronTime, local)) return cronTime;
  return undefined;
}

/** @param other `undefined` for what somebody has put into the registry that is no cron job */
function isSame(
  { cronTime, timeZone, utcOffset }: CronOptions,
  other: CronTimeLike | undefined,
  local: () => string,
): other is CronTimeLike {
  if (other === undefined) return false;
  if (typeof cronTime !== 'string') return other.realDate && Number(cronTime) === Number(other.source);
  if (other.source !== cronTime) return false;
  const offset = utcOffset ?? undefined;
  if (offset !== (other.utcOffset ?? undefined)) return false;
  if (offset !== undefined) return true;
  const [own, zone] = [timeZone ?? undefined, other.timeZone ?? undefined];
  return own === zone || (own ?? local()) === (zone ?? local());
}
