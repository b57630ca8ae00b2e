import { createRequire } from 'node:module';
import type { CronTimeLike } from '../../../lib/schedule/scheduler-parts.js';
import { CronTicks } from '../../../lib/schedule/cron-ticks.js';
import type { Figures, Task } from '../task.js';

const DAY = 86_400_000;
const EXPRESSIONS = [
  '* * * * * *',
  '*/10 * * * *',
  '30 2 * * *',
  '0 9-17/4 * * 1-5',
  '5 4 1 * *',
  '0 30 4 1 1 *',
  // Rare days, and thousands of dates on a rare day.
  '0 0 0 29 2 *',
  '* * 29 2 *',
  '* * * 29 2 *',
  '* * * * * 1',
];

/** The fastest try counts: a garbage collection during a try says nothing about the search. */
const TRIES = 3;

type CronTimeClass = new (source: string, timeZone: string) => CronTimeLike;

/** Searches for the tick of an unknown job, after pauses of all lengths: the most expensive search, milliseconds. */
export async function measureSearch({ quick }: Task): Promise<Figures> {
  const here = createRequire(import.meta.url);
  const { CronTime } = createRequire(here.resolve('@nestjs/schedule'))('cron') as { CronTime: CronTimeClass };
  const searches = quick ? 2 : 25;
  let [worst, sum] = [0, 0];
  for (const expression of EXPRESSIONS) {
    const cronTime = new CronTime(expression, 'Europe/Berlin');
    for (let i = 0; i < searches; i++) {
      const now = Date.now() - i * 91.77 * DAY;
      const time = Math.min(...Array.from({ length: TRIES }, () => search(cronTime, now)));
      worst = Math.max(worst, time);
      sum += time / searches / EXPRESSIONS.length;
    }
  }
  return { worst, mean: sum };
}

/** Processor time of one search, milliseconds. */
function search(cronTime: CronTimeLike, now: number): number {
  const before = process.cpuUsage();
  new CronTicks(cronTime).newest(now);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3;
}
