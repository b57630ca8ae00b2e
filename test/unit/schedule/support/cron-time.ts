import { createRequire } from 'node:module';
import type { CronTimeLike } from '../../../../lib/schedule/cron-ticks.js';

type CronTimeClass = new (
  source: string | Date,
  timeZone?: string | null,
  utcOffset?: number | null,
) => CronTimeLike;

const here = createRequire(import.meta.url);

/** The class that `@nestjs/schedule` fires by: its own copy of `cron`, whatever else is installed. */
export const { CronTime } = createRequire(here.resolve('@nestjs/schedule'))('cron') as {
  CronTime: CronTimeClass;
};

/** All dates of an expression in (from, until], the plain way: one after another. */
export function datesBetween(cronTime: CronTimeLike, zone: string, from: number, until: number): number[] {
  const dates: number[] = [];
  for (let at = from; ;) {
    const next = cronTime.getNextDateFrom(new Date(at), zone).toMillis();
    if (next > until) return dates;
    // At Lord Howe's half-hour change `cron` answers a date that is not later: the search goes on beyond it.
    if (next > at) dates.push(next);
    at = next > at ? next : at + 15 * 60_000;
  }
}
