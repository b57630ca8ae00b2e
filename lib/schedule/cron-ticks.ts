/**
 * What is needed of `CronTime` of the package `cron`. It is taken from the very job that fires, so that both agree
 * on every date, also around changes of daylight saving time.
 */
export interface CronTimeLike {
  readonly source: unknown;
  readonly timeZone?: string | undefined;
  readonly utcOffset?: number | undefined;
  readonly realDate: boolean;
  getNextDateFrom(start: Date, timeZone?: string): { toMillis(): number };
}

/** The farthest back that a date is looked for, ms: `cron` itself looks 8 years ahead. */
const MAX_SPAN = 9 * 366 * 86_400_000;
/** How far back the search begins, ms; it goes back four times as far with each step. */
const FIRST_SPAN = 60_000;
/** By how much to go on where `cron` answers a date that is not later (Lord Howe's half-hour change), ms. */
const STEP = 15 * 60_000;

/**
 * The dates of one cron expression.
 *
 * One question to `cron` costs 0.1 to 1.5 ms, a search from nothing some tens of them; so the newest date and the one
 * that follows it are kept from call to call.
 */
export class CronTicks {
  /** How people and the store tell this schedule from another one. */
  readonly schedule: string;
  readonly #zone: string | undefined;
  #tick = Infinity;
  #following = Infinity;

  constructor(private readonly cronTime: CronTimeLike) {
    const { timeZone, utcOffset } = cronTime;
    this.#zone = timeZone ?? (utcOffset === undefined ? undefined : offsetZone(utcOffset));
    this.schedule = `${String(cronTime.source)} (${this.#zone ?? 'local time'})`;
  }

  /** The newest date not after `now`, epoch milliseconds; `undefined` if there is none within nine years. */
  newest(now: number): number | undefined {
    if (this.cronTime.realDate) {
      const date = Number(this.cronTime.source);
      return date <= now ? date : undefined;
    }
    if (now < this.#tick) return this.#search(now);
    if (now < this.#following) return this.#tick;
    const following = this.#next(this.#following);
    if (now >= following) return this.#search(now);
    this.#tick = this.#following;
    this.#following = following;
    return this.#tick;
  }

  #search(now: number): number | undefined {
    let span = FIRST_SPAN;
    let tick = this.#next(now - span);
    while (tick > now) {
      if (span > MAX_SPAN) return undefined;
      span *= 4;
      tick = this.#next(now - span);
    }
    // The newest date is in [tick, until]: halve that until nothing follows.
    let until = now;
    let following = this.#next(tick);
    while (following <= now) {
      const middle = this.#next((tick + until) / 2);
      if (middle <= now) {
        tick = middle;
        following = this.#next(tick);
      } else {
        until = (tick + until) / 2;
        tick = following;
        following = this.#next(tick);
      }
    }
    this.#tick = tick;
    this.#following = following;
    return tick;
  }

  /** The first date after `time`, or Infinity. */
  #next(time: number): number {
    try {
      for (let start = time; start < time + 100 * STEP; start += STEP) {
        const next = this.cronTime.getNextDateFrom(new Date(start), this.#zone).toMillis();
        if (next > time) return next;
      }
    } catch {
      // `cron` throws if there is no date within 8 years.
    }
    return Infinity;
  }
}

/** A zone that luxon reads: `UTC+05:30`. */
function offsetZone(minutes: number): string {
  const hours = Math.floor(Math.abs(minutes) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${minutes < 0 ? '-' : '+'}${two(hours)}:${two(Math.abs(minutes) % 60)}`;
}
