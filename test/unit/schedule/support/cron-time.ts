import { createRequire } from 'node:module';
import type { CronTimeLike } from '../../../../lib/schedule/scheduler-parts.js';

type CronTimeClass = new (
  source: string | Date,
  timeZone?: string | null,
  utcOffset?: number | null,
) => CronTimeLike;

const here = createRequire(import.meta.url);

const scheduler = createRequire(here.resolve('@nestjs/schedule'));

/** The class that `@nestjs/schedule` fires by: its own copy of `cron`, whatever else is installed. */
export const { CronTime } = scheduler('cron') as { CronTime: CronTimeClass };

const { Settings } = createRequire(scheduler.resolve('cron'))('luxon') as {
  Settings: { now: () => number };
};

/**
 * Lets `cron` believe that it is this time; `undefined`: the real one. What it answers for a time of day that comes
 * twice depends on the season in which it is asked.
 */
export function setCronClock(now: number | undefined): void {
  Settings.now = now === undefined ? () => Date.now() : () => now;
}

/**
 * All dates of an expression in (from, until], the plain way: those at which a process fires that is up all the time.
 * It asks for the next date when the last one has come.
 */
export function datesBetween(cronTime: CronTimeLike, zone: string, from: number, until: number): number[] {
  const dates: number[] = [];
  for (let at = from; ;) {
    setCronClock(at);
    const next = cronTime.getNextDateFrom(new Date(at), zone).toMillis();
    setCronClock(undefined);
    if (next <= at) throw new Error(`cron goes back from ${new Date(at).toISOString()}`);
    if (next > until) return dates;
    dates.push(next);
    at = next;
  }
}

/** The same `CronTime`, with a note of how often it was asked. */
export function counted(cronTime: CronTimeLike): CronTimeLike & { questions: number } {
  return {
    questions: 0,
    source: cronTime.source,
    timeZone: cronTime.timeZone,
    utcOffset: cronTime.utcOffset,
    realDate: cronTime.realDate,
    getNextDateFrom(start, zone) {
      this.questions += 1;
      return cronTime.getNextDateFrom(start, zone);
    },
    sendAt: () => cronTime.sendAt(),
  };
}
