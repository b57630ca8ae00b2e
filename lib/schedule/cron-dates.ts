/**
 * What is needed of `CronTime` of the package `cron`. It is taken from the very job that fires, so that both agree
 * on every date, also around changes of daylight saving time.
 */
export interface CronTimeLike {
  readonly source: unknown;
  readonly timeZone?: string | undefined;
  readonly utcOffset?: number | undefined;
  readonly realDate: boolean;
  getNextDateFrom(start: Date, timeZone?: string): CronDate;
}

/** A date as `cron` gives it, by luxon. */
interface CronDate {
  toMillis(): number;
  /** The zone that `cron` counts in: minutes that its clocks are ahead of UTC. */
  readonly zone?: { offset(time: number): number };
}

/** Clocks that were set back: those times of day come twice. */
interface SetBack {
  /** When they were, epoch milliseconds. */
  readonly at: number;
  /** By how much, milliseconds. */
  readonly by: number;
  /** How far they were ahead of UTC before, milliseconds. */
  readonly ahead: number;
}

/** The zone of this machine, which `cron` takes where none is given. Up to version 3 it does not say so. */
export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const MINUTE = 60_000;
/** By how much to go on where `cron` answers a date that is not later, ms. */
const STEP = 15 * MINUTE;
/** How far from a date its zone's clocks may be set back and `cron` take notice; no zone does so by more, ms. */
const AROUND = 180 * MINUTE;

/**
 * The dates of one cron expression: those at which `cron` fires in a process that has been up all the time.
 *
 * Where the clocks are set back, `cron`'s answer depends on where one begins to ask: `30 2 * * *` has fired in the
 * first of the two hours, and a process that is started in the second one fires it again. So what is asked from within
 * the second hour is asked from its begin; then all instances have the same dates, and that second fire has none of its
 * own: it belongs to the date before, which has been started, or is started by it. Either way it runs once that night.
 */
export class CronDates {
  #zone: CronDate['zone'];

  constructor(
    private readonly cronTime: CronTimeLike,
    private readonly zoneName: string,
  ) {}

  /** The first date after `time`, epoch milliseconds, or Infinity. One to three questions to `cron`. */
  after(time: number): number {
    try {
      return this.#after(time);
    } catch {
      // `cron` throws if there is no date within 8 years.
      return Infinity;
    }
  }

  #after(time: number): number {
    const next = this.#ask(time);
    const here = this.#setBackNear(time);
    if (here !== undefined && time >= here.at && time < here.at + here.by) {
      // Where somebody goes on who has been through the first of the two hours.
      const onwards = this.#ask(here.at - 1);
      return onwards > time ? onwards : next;
    }
    const there = this.#setBackNear(next);
    if (there === undefined || time >= there.at) return next;
    // Asked later, `cron` takes the second of two hours for the first one, or misses both (Lord Howe's are half hours).
    const clock = time + (this.#zone?.offset(time) ?? 0) * MINUTE;
    const first = this.cronTime.getNextDateFrom(new Date(clock), 'UTC').toMillis() - there.ahead;
    return first >= there.at - there.by && first < there.at ? first : next;
  }

  #ask(time: number): number {
    for (let start = time; start < time + 100 * STEP; start += STEP) {
      const next = this.cronTime.getNextDateFrom(new Date(start), this.zoneName);
      this.#zone ??= next.zone;
      if (next.toMillis() > time) return next.toMillis();
    }
    return Infinity;
  }

  #setBackNear(time: number): SetBack | undefined {
    const zone = this.#zone;
    if (zone === undefined) return undefined;
    let [from, until] = [time - AROUND, time + AROUND];
    const [before, after] = [zone.offset(from), zone.offset(until)];
    if (before <= after) return undefined;
    while (until - from > 1) {
      const middle = Math.floor((from + until) / 2);
      if (zone.offset(middle) === before) from = middle;
      else until = middle;
    }
    return { at: until, by: (before - after) * MINUTE, ahead: before * MINUTE };
  }
}
