import { afterEach, describe, expect, test } from '@jest/globals';
import type { CronTimeLike } from '../../../lib/schedule/scheduler-parts.js';
import { CronTicks } from '../../../lib/schedule/cron-ticks.js';
import { CronTime, datesBetween, setCronClock } from './support/cron-time.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

afterEach(() => setCronClock(undefined));

/** When the clocks of 2026 are set forward and back. */
const ZONES = {
  'Europe/Berlin': [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1)],
  'America/New_York': [Date.UTC(2026, 2, 8, 7), Date.UTC(2026, 10, 1, 6)],
  'Australia/Sydney': [Date.UTC(2026, 9, 3, 16), Date.UTC(2026, 3, 4, 16)],
  // At midnight: the hour before it comes twice, or the one after it.
  'Asia/Beirut': [Date.UTC(2026, 2, 28, 22), Date.UTC(2026, 9, 24, 21)],
  'America/Havana': [Date.UTC(2026, 2, 8, 5), Date.UTC(2026, 10, 1, 5)],
} as const;

const EXPRESSIONS = [
  '*/10 * * * *',
  '30 * * * *',
  '45 1 * * *',
  '10,50 2,3 * * *',
  // cron fires it at 02:15 as well where three o'clock follows a repeated hour.
  '15 3 * * *',
  '30 2 * * *',
  '0 0 * * *',
  '15 23 * * *',
  '30 0 * * *',
];

const iso = (time: number | undefined): string =>
  time === undefined ? 'none' : new Date(time).toISOString();

/** When instances are started: eight times around clocks that are set back, other ones for each expression. */
function starts(change: number, index: number): number[] {
  const phase = (index * 17 * MINUTE) % (43 * MINUTE);
  return Array.from({ length: 8 }, (_, i) => change - 2 * HOUR + phase + i * (43 * MINUTE + 1));
}

/** What is wrong with the newest dates that instances find which are started then. */
function disagreements(cronTime: CronTimeLike, zone: string, times: readonly number[]): string[] {
  const [from = 0, until = 0] = [times[0], times.at(-1)];
  const throughout = datesBetween(cronTime, zone, from - 2 * DAY, until);
  return times.flatMap((now) => {
    setCronClock(now);
    const found = new CronTicks(cronTime).newest(now);
    const fired = throughout.findLast((date) => date <= now);
    return found === fired ? [] : [`at ${iso(now)}: fired ${iso(fired)}, found ${iso(found)}`];
  });
}

describe.each(Object.entries(ZONES))('around the changes of %s', (zone, [forward, back]) => {
  test.each(EXPRESSIONS.map((text, index) => [text, index] as const))(
    'an instance agrees with one that ran through, whenever it starts: "%s"',
    (text, index) => {
      const cronTime = new CronTime(text, zone);
      expect(disagreements(cronTime, zone, starts(back, index))).toEqual([]);
      expect(disagreements(cronTime, zone, [forward + 5 * MINUTE, forward + 95 * MINUTE])).toEqual([]);
    },
  );
});

test('a fire in the second of two hours belongs to the date in the first one', () => {
  const nightly = new CronTime('30 2 * * *', 'Europe/Berlin');
  const [first, second] = [Date.UTC(2026, 9, 25, 0, 30), Date.UTC(2026, 9, 25, 1, 30)];
  setCronClock(second - 5 * MINUTE);
  // This is when cron fires in a process that is started now.
  const fires = nightly.getNextDateFrom(new Date(second - 5 * MINUTE), 'Europe/Berlin').toMillis();
  expect(iso(fires)).toBe(iso(second));
  setCronClock(fires);
  expect(iso(new CronTicks(nightly).newest(fires))).toBe(iso(first));
});
