import { CronDates, type CronTimeLike, localZone } from './cron-dates.js';

/** Dates are whole seconds, so that two are this far apart at least, ms. */
const RESOLUTION = 1_000;
/** The farthest back that a date is looked for, ms: `cron` itself looks 8 years ahead. */
const MAX_SPAN = 9 * 366 * 86_400_000;
/** How far back the search begins, in distances of two dates: beyond a long month, a leap year, a change of clocks. */
const FIRST_STEP = 1.2;
/** By how much farther back it goes each time. */
const LONGER = 8;
/** Only a date this close to the end of the search, in distances of two dates, is asked whether it is the newest. */
const CLOSE = 64;

/**
 * The newest date of one cron expression.
 *
 * One question to `cron` costs 0.1 to 1.5 ms. A search from nothing takes four of them where dates are regular, also for a
 * yearly expression, and fewer than fifty (some 30 ms) where thousands of dates fall on one day in years; `npm run bench --
 * --only ticks` shows the dearest. So the newest date and the one that follows it are kept from call to call.
 */
export class CronTicks {
  /** How people and the store tell this schedule from another one. */
  readonly schedule: string;
  readonly #dates: CronDates;
  #tick = Infinity;
  #following = Infinity;

  constructor(private readonly cronTime: CronTimeLike) {
    const { timeZone, utcOffset } = cronTime;
    const zone = timeZone ?? (utcOffset === undefined ? localZone() : offsetZone(utcOffset));
    this.#dates = new CronDates(cronTime, zone);
    this.schedule = `${String(cronTime.source)} (${zone})`;
  }

  /** The newest date not after `now`, epoch milliseconds; `undefined` if there is none within nine years. */
  newest(now: number): number | undefined {
    if (this.cronTime.realDate) {
      const date = Number(this.cronTime.source);
      return date <= now ? date : undefined;
    }
    if (now < this.#tick) return this.#search(now);
    if (now < this.#following) return this.#tick;
    const following = this.#dates.after(this.#following);
    if (now >= following) return this.#search(now);
    this.#tick = this.#following;
    this.#following = following;
    return this.#tick;
  }

  #search(now: number): number | undefined {
    const following = this.#dates.after(now);
    // No date in the years to come: then there was none before.
    if (following === Infinity) return undefined;
    // Most schedules are regular: the newest date is as far before the next one as the one after that.
    const distance = this.#dates.after(following) - following;
    let [until, span] = [now, Math.min(distance, MAX_SPAN) * FIRST_STEP];
    let tick = this.#dates.after(following - span);
    while (tick > now) {
      if (span > MAX_SPAN) return undefined;
      until = Math.min(until, following - span);
      span *= LONGER;
      tick = this.#dates.after(following - span);
    }
    // The newest date is in [tick, until]: halve that until none follows.
    let isNewest = this.#dates.after(tick) > now;
    while (!isNewest && until - tick >= RESOLUTION) {
      const middle = (tick + until) / 2;
      const next = this.#dates.after(middle);
      if (next > now) until = middle;
      else {
        tick = next;
        // Amid thousands of dates of one day it would not be, and the question would be in vain.
        isNewest = until - tick < CLOSE * distance && this.#dates.after(tick) > now;
      }
    }
    this.#tick = tick;
    this.#following = following;
    return tick;
  }
}

/** A zone that luxon reads: `UTC+05:30`. */
function offsetZone(minutes: number): string {
  const hours = Math.floor(Math.abs(minutes) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${minutes < 0 ? '-' : '+'}${two(hours)}:${two(Math.abs(minutes) % 60)}`;
}
