import type { CronDate, CronTimeLike } from './scheduler-parts.js';

/** A moment at which clocks were set back, as at the end of daylight saving time: some times of day come twice. */
interface SetBack {
  /** When the clocks were set back, epoch milliseconds. */
  readonly at: number;
  /** By how much, milliseconds. */
  readonly by: number;
  /** How far the clocks were ahead of UTC before, milliseconds. */
  readonly ahead: number;
}

const MINUTE = 60_000;
/** The step to a later start if `cron` returns a date that is not later, ms. */
const STEP = 15 * MINUTE;
/**
 * How far around a date to look for clocks that are set back, ms: further away, `cron` is not affected. No zone sets
 * its clocks back by more.
 */
const AROUND = 180 * MINUTE;

/**
 * The dates of one cron expression: those at which `cron` fires in a process that is always up.
 *
 * When daylight saving time ends, the answer of `cron` depends on the start of the question. `30 2 * * *` has fired in the
 * first of the two hours, and a process that starts in the second one fires it again. So a question from within the
 * second hour is asked from the beginning of that hour. Then all instances have the same dates, and the second fire has
 * no date of its own: it belongs to the date before. Either that date was started already, or this fire starts it. In
 * both cases the job runs once that night.
 */
export class CronDates {
  #zone: CronDate['zone'];

  constructor(
    private readonly cronTime: CronTimeLike,
    private readonly zoneName: string,
  ) {}

  /** The first date after `time`, epoch milliseconds, or Infinity. Asks `cron` one to three questions. */
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
      // The next date for a process that was up in the first of the two hours.
      const onwards = this.#ask(here.at - 1);
      return onwards > time ? onwards : next;
    }
    const there = this.#setBackNear(next);
    if (there === undefined || time >= there.at) return next;
    // From later starts, `cron` takes the second of the two hours for the first one, or misses both (on Lord Howe
    // Island they are half hours).
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
