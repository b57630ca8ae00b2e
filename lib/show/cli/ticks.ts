import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { TickFinder } from '../../insight/facts.js';
import { type CronTimeClass, tickFinder } from '../../schedule/cron-ticks.js';

/**
 * Finds the dates of cron expressions by the very `cron` that the application uses: the one of `@nestjs/schedule` in its folder.
 *
 * @returns `undefined` if there is none
 */
export function ticksOf(folder: string): TickFinder | undefined {
  try {
    const scheduler = createRequire(join(folder, 'package.json')).resolve('@nestjs/schedule');
    const { CronTime } = createRequire(scheduler)('cron') as { CronTime: CronTimeClass };
    return tickFinder(() => CronTime);
  } catch {
    return undefined;
  }
}
