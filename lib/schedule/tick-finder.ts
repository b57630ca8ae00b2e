import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type CronTicks, ticksFor } from './cron-ticks.js';
import type { CronTimeLike } from './scheduler-parts.js';

/** The class `CronTime` of the package `cron`. It reads an offset such as `UTC+05:30` as a zone, too. */
export type CronTimeClass = new (source: string | Date, timeZone?: string) => CronTimeLike;

/** The dates of one or several expressions, epoch milliseconds. */
type Dates = Pick<CronTicks, 'newest' | 'next'>;
type TickFinder = (schedule: string, timeZone: string | undefined) => Dates | undefined;

/** What stands between the expressions of a method that several cron jobs fire. */
export const AND = ' and ';

/**
 * Finds the dates of schedules by their texts.
 *
 * @param cronTime the class that the scheduler uses; `undefined`: that of the program that runs here, if it has one
 * @returns a function that answers `undefined` for what `cron` cannot read
 */
export function tickFinder(cronTime: () => CronTimeClass | undefined = () => undefined): TickFinder {
  return (schedule, timeZone) => {
    const Class = cronTime() ?? installed();
    if (Class === undefined) return undefined;
    try {
      const all = schedule
        .split(AND)
        .map((each) => ticksFor(new Class(DATE.test(each) ? new Date(each) : each, timeZone)));
      return together(all);
    } catch {
      return undefined;
    }
  };
}

/** A job with a single date shows it as its expression. */
const DATE = /^\d{4}-\d\d-\d\dT/;

/** The dates of all of these; none if there are none. */
export const together = (all: readonly Dates[]): Dates => ({
  newest: (at) => {
    const newest = Math.max(...all.map((dates) => dates.newest(at) ?? -Infinity));
    return newest === -Infinity ? undefined : newest;
  },
  next: (at) => Math.min(...all.map((dates) => dates.next(at))),
});

let found: { readonly cronTime: CronTimeClass | undefined } | undefined;

/** The very `cron` that the application uses: the one of `@nestjs/schedule` beside the program, or in the folder in which it was started. */
function installed(): CronTimeClass | undefined {
  found ??= { cronTime: [process.cwd(), dirname(process.argv[1] ?? '')].map(cronIn).find(Boolean) };
  return found.cronTime;
}

function cronIn(folder: string): CronTimeClass | undefined {
  try {
    const scheduler = createRequire(join(folder, 'package.json')).resolve('@nestjs/schedule');
    return (createRequire(scheduler)('cron') as { readonly CronTime: CronTimeClass }).CronTime;
  } catch {
    return undefined;
  }
}
