import type { CronTimeLike } from './scheduler-parts.js';
import { systemClock } from '../base/clock.js';
import { SchedulerLockConfigError } from '../base/errors.js';

/** Dates are whole seconds, so two dates are at least this far apart, ms. */
const RESOLUTION = 1_000;
/** How far back the search goes at most, ms: `cron` itself looks 8 years ahead. */
const MAX_SPAN = 9 * 366 * 86_400_000;
/** How far back the search begins, in distances of two dates: enough for a long month, a leap year, a change of clocks. */
const FIRST_STEP = 1.2;
/** By which factor the search goes farther back each time. */
const LONGER = 8;
/**
 * Only if a date is this close to the end of the search, in distances of two dates, does the search check whether it is the
 * newest.
 */
const CLOSE = 64;
/** The step to a later start if `cron` returns a date that is not later, ms. */
const STEP = 900_000;

/**
 * The newest date of one cron expression.
 *
 * One question to `cron` costs 0.1 to 1.5 ms. A search from nothing takes four questions if dates are regular, also for a
 * yearly expression. It takes fewer than fifty (some 30 ms) if thousands of dates fall on one day in years; `npm run bench
 * -- --only ticks` shows the most expensive ones. So the newest date, the next one and the one before are kept from call to call.
 */
export class CronTicks {
  /** The text by which people and the store distinguish this schedule from another one. */
  readonly schedule: string;
  /** Its expression, or its date, and its zone. */
  readonly expression: string;
  readonly zone: string;
  /** The date before that; Infinity if it is not known. */
  #before = Infinity;
  #tick = Infinity;
  #following = Infinity;

  constructor(private readonly cronTime: CronTimeLike) {
    const { timeZone, utcOffset } = cronTime;
    const zone = timeZone ?? (utcOffset === undefined ? zoneOf(cronTime) : offsetZone(utcOffset));
    this.expression = String(cronTime.source);
    this.zone = zone;
    this.schedule = `${this.expression} (${zone})`;
  }

  /** The newest date not after `now`, epoch milliseconds; `undefined` if there is none within nine years. */
  newest(now: number): number | undefined {
    if (this.cronTime.realDate) {
      const date = Number(this.cronTime.source);
      return date <= now ? date : undefined;
    }
    if (now < this.#tick) return now >= this.#before ? this.#before : this.#search(now);
    if (now < this.#following) return this.#tick;
    const following = this.#after(this.#following);
    if (now >= following) return this.#search(now);
    this.#before = this.#tick;
    this.#tick = this.#following;
    this.#following = following;
    return this.#tick;
  }

  /** The first date after `now`, epoch milliseconds, or Infinity. */
  next(now: number): number {
    if (!this.cronTime.realDate) {
      if (this.newest(now) === undefined) return this.#after(now);
      return now < this.#tick ? this.#tick : this.#following;
    }
    const date = Number(this.cronTime.source);
    return date > now ? date : Infinity;
  }

  #search(now: number): number | undefined {
    const following = this.#after(now);
    // `cron` finds no date in the years to come: then there was none before either.
    if (following === Infinity) return undefined;
    // Most schedules are regular: the newest date is as far before the next one as the one after that is behind it.
    const distance = this.#after(following) - following;
    let [until, span] = [now, Math.min(distance, MAX_SPAN) * FIRST_STEP];
    let tick = this.#after(following - span);
    while (tick > now) {
      if (span > MAX_SPAN) return undefined;
      until = Math.min(until, following - span);
      span *= LONGER;
      tick = this.#after(following - span);
    }
    // The newest date is in [tick, until]: halve that until none follows.
    let isNewest = this.#after(tick) > now;
    while (!isNewest && until - tick >= RESOLUTION) {
      const middle = (tick + until) / 2;
      const next = this.#after(middle);
      if (next > now) until = middle;
      else {
        tick = next;
        // Amid thousands of dates on one day this date is not the newest, so the question would be wasted.
        isNewest = until - tick < CLOSE * distance && this.#after(tick) > now;
      }
    }
    this.#before = Infinity;
    this.#tick = tick;
    this.#following = following;
    return tick;
  }

  /** The first date after `time`, epoch milliseconds, or Infinity. */
  #after(time: number): number {
    try {
      // Where clocks are set back, `cron` may answer a date that is not later.
      for (let start = time; start < time + 100 * STEP; start += STEP) {
        const next = this.cronTime.getNextDateFrom(new Date(start), this.zone).toMillis();
        if (next > time) return next;
      }
    } catch {
      // `cron` throws if there is no date within 8 years.
    }
    return Infinity;
  }
}

/** The zone of a job that names none: that of this machine. From version 4 of `cron` on, it is UTC for an empty text. */
function zoneOf(cronTime: CronTimeLike): string {
  try {
    const { zoneName } = cronTime.sendAt();
    if (zoneName !== null) return zoneName;
  } catch {
    // `cron` throws if there is no date to come: then the zone only appears in messages.
  }
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** More schedules than an application has, unless it makes up new ones all the time. */
const MAX_SHARED = 1_000;

/** Those with the same schedule share one search: a new leader asks for all jobs at once. */
function knownTicks(): (cronTime: CronTimeLike) => CronTicks {
  const ticksOf = new WeakMap<CronTimeLike, CronTicks>();
  // By class of `CronTime` (each version of `cron` has dates of its own) and by schedule.
  const shared = new WeakMap<object, Map<string, CronTicks>>();
  const make = (cronTime: CronTimeLike): CronTicks => {
    const { source, timeZone, utcOffset, realDate, constructor } = cronTime;
    if (realDate) return new CronTicks(cronTime);
    const schedules = shared.get(constructor) ?? new Map<string, CronTicks>();
    shared.set(constructor, schedules);
    const schedule = JSON.stringify([source, timeZone, utcOffset]);
    const ticks = schedules.get(schedule) ?? new CronTicks(cronTime);
    if (schedules.size >= MAX_SHARED) schedules.clear();
    schedules.set(schedule, ticks);
    return ticks;
  };
  return (cronTime) => {
    const ticks = ticksOf.get(cronTime) ?? make(cronTime);
    ticksOf.set(cronTime, ticks);
    return ticks;
  };
}

/** The ticks of one `CronTime`, for calls and those who ask about now. */
export const ticksFor = knownTicks();

/** The ticks of one `CronTime`, for a look back: such questions must not end the search that is kept for the next call. */
export const pastTicksFor = knownTicks();

/** A zone that luxon reads: `UTC+05:30`. */
function offsetZone(minutes: number): string {
  const hours = Math.floor(Math.abs(minutes) / 60);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `UTC${minutes < 0 ? '-' : '+'}${two(hours)}:${two(Math.abs(minutes) % 60)}`;
}

/**
 * The tick for which your own cron job fires, as decorated jobs have it: the newest date of its expression and zone that has
 * come. Unlike `lastDate()`, it is the same number on every instance. Call it first thing in `onTick`:
 *
 * ```ts
 * locks.run('report', { tick: tickOf(job) }, () => report());
 * ```
 *
 * @param job a `CronJob` of the package `cron`. Give it a `timeZone`, so that all instances agree
 * @returns epoch milliseconds; `undefined` if none of its dates has come: `run()` treats that as a call by hand
 * @throws SchedulerLockConfigError if `job` is no cron job
 */
export function tickOf(job: { readonly cronTime: CronTimeLike }): number | undefined {
  const cronTime = (job as { readonly cronTime?: Partial<CronTimeLike> } | null | undefined)?.cronTime;
  if (typeof cronTime?.getNextDateFrom !== 'function') {
    throw new SchedulerLockConfigError([
      `tickOf(): ${job === null ? 'null' : typeof job} is no cron job. Give a CronJob of the package cron.`,
    ]);
  }
  return ticksFor(cronTime as CronTimeLike).newest(systemClock.now());
}
