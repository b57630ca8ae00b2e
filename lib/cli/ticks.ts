import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { TickFinder } from '../insight/facts.js';
import { ticksFor } from '../scheduler/cron-ticks.js';
import type { CronTimeLike } from '../scheduler/scheduler-parts.js';

type CronTimes = new (source: string, timeZone?: string) => CronTimeLike;

/**
 * Finds the dates of cron expressions by the very `cron` that the application uses: the one of `@nestjs/schedule` in its folder.
 *
 * @returns `undefined` if there is none
 */
export function ticksOf(folder: string): TickFinder | undefined {
  try {
    const scheduler = createRequire(join(folder, 'package.json')).resolve('@nestjs/schedule');
    const { CronTime } = createRequire(scheduler)('cron') as { CronTime: CronTimes };
    return (schedule, timeZone) => {
      try {
        return ticksFor(new CronTime(schedule, timeZone));
      } catch {
        // An expression that this version does not know.
        return undefined;
      }
    };
  } catch {
    return undefined;
  }
}
