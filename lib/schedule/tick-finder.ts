import { type CronTicks, ticksFor } from './cron-ticks.js';
import type { CronTimeLike } from './scheduler-parts.js';

/** The class `CronTime` of the package `cron`. It reads an offset such as `UTC+05:30` as a zone, too. */
export type CronTimeClass = new (source: string, timeZone?: string) => CronTimeLike;

/**
 * Finds the dates of expressions by their texts.
 *
 * @param cronTime the class that the scheduler uses; `undefined` if it is not known
 * @returns a function that answers `undefined` for what `cron` cannot read
 */
export function tickFinder(
  cronTime: () => CronTimeClass | undefined,
): (schedule: string, timeZone: string | undefined) => CronTicks | undefined {
  return (schedule, timeZone) => {
    const Class = cronTime();
    try {
      return Class && ticksFor(new Class(schedule, timeZone));
    } catch {
      return undefined;
    }
  };
}
