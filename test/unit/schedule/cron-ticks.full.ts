import { afterEach, describe, expect, test } from '@jest/globals';
import { CronTicks } from '../../../lib/schedule/cron-ticks.js';
import { counted, CronTime, datesBetween, setCronClock } from './support/cron-time.js';

afterEach(() => setCronClock(undefined));

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The two changes of 2026, and a time without one. */
const ZONES: Record<string, readonly number[]> = {
  UTC: [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 1, 28, 23)],
  'Europe/Berlin': [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1), Date.UTC(2026, 6, 1)],
  'America/New_York': [Date.UTC(2026, 2, 8, 7), Date.UTC(2026, 10, 1, 6), Date.UTC(2026, 6, 1)],
  'Australia/Lord_Howe': [Date.UTC(2026, 3, 4, 15), Date.UTC(2026, 9, 3, 15, 30), Date.UTC(2026, 6, 1)],
  'Asia/Kolkata': [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 6, 1)],
};

/** Expressions, and how far around a change their dates are listed, and how finely they are asked for. */
const EXPRESSIONS: readonly (readonly [expression: string, around: number, step: number])[] = [
  ['* * * * * *', MINUTE, 777],
  ['*/7 * * * * *', 5 * MINUTE, 1_511],
  ['0 * * * * *', 90 * MINUTE, 97_003],
  ['*/10 * * * *', 5 * HOUR, 197_003],
  ['30 * * * *', DAY, 13 * MINUTE + 1],
  ['15 3 * * *', 3 * DAY, 31 * MINUTE + 1],
  ['30 2 * * *', 3 * DAY, 31 * MINUTE + 1],
  ['0 0 * * *', 3 * DAY, 31 * MINUTE + 1],
  ['0 9-17/4 * * 1-5', 10 * DAY, 2 * HOUR + 1],
  ['5 4 1 * *', 70 * DAY, 17 * HOUR + 1],
];

/** The instants asked for: each date, one millisecond before it and after it, and steps that hit none. */
function instants(dates: readonly number[], from: number, until: number, step: number): number[] {
  const times = dates.flatMap((date) => [date - 1, date, date + 1]);
  for (let time = from; time <= until; time += step) times.push(time);
  const [first = Infinity] = dates;
  return times.filter((time) => time >= first && time <= until).sort((a, b) => a - b);
}

/** The newest of ascending `dates` not after `now`. */
const newestOf = (dates: readonly number[], now: number): number | undefined =>
  dates.findLast((date) => date <= now);

const iso = (time: number | undefined): string =>
  time === undefined ? 'none' : new Date(time).toISOString();

describe.each(Object.keys(ZONES))('in %s', (zone) => {
  test.each(EXPRESSIONS)(
    'the newest date of "%s" is the one that stepping finds',
    (expression, around, step) => {
      const cronTime = new CronTime(expression, zone);
      for (const change of ZONES[zone] ?? []) {
        const [from, until] = [change - around, change + around];
        const dates = datesBetween(cronTime, zone, from, until);
        expect(dates.length).toBeGreaterThan(3);
        const forward = new CronTicks(cronTime);
        const asked = instants(dates, from, until, step);
        const wrong: string[] = [];
        for (const [index, now] of asked.entries()) {
          const expected = newestOf(dates, now);
          setCronClock(now);
          const kept = forward.newest(now);
          // From nothing costs some tens of questions to cron: not for every instant.
          const found = index % 41 === 0 ? new CronTicks(cronTime).newest(now) : expected;
          if (kept !== expected || found !== expected)
            wrong.push(`at ${iso(now)}: ${iso(expected)}, kept ${iso(kept)}, found ${iso(found)}`);
        }
        expect(wrong).toEqual([]);
      }
    },
  );
});

test('a process that runs through a repeated hour counts its date once, and a skipped one counts at the change', () => {
  const ticks = new CronTicks(new CronTime('30 2 * * *', 'Europe/Berlin'));
  const autumn = Date.UTC(2026, 9, 25, 0, 30);
  expect(ticks.newest(Date.UTC(2026, 9, 25, 0, 29))).toBe(Date.UTC(2026, 9, 24, 0, 30));
  for (let now = autumn; now < autumn + DAY; now += 7 * MINUTE) expect(ticks.newest(now)).toBe(autumn);
  // There is no 02:30 on this day: cron fires when the clocks have jumped to 03:00.
  const spring = Date.UTC(2026, 2, 29, 1);
  expect(new CronTicks(new CronTime('30 2 * * *', 'Europe/Berlin')).newest(spring + HOUR)).toBe(spring);
});

test('yearly expressions and the 29th of February are found after long pauses, forwards and backwards', () => {
  const yearly = new CronTicks(new CronTime('0 30 4 1 1 *', 'UTC'));
  const leap = new CronTicks(new CronTime('0 0 0 29 2 *', 'UTC'));
  const cases: readonly (readonly [now: number, yearly: number, leap: number])[] = [
    [Date.UTC(2026, 10, 21), Date.UTC(2026, 0, 1, 4, 30), Date.UTC(2024, 1, 29)],
    [Date.UTC(2027, 0, 1, 4, 29, 59, 999), Date.UTC(2026, 0, 1, 4, 30), Date.UTC(2024, 1, 29)],
    [Date.UTC(2027, 0, 1, 4, 30), Date.UTC(2027, 0, 1, 4, 30), Date.UTC(2024, 1, 29)],
    [Date.UTC(2024, 1, 28, 23), Date.UTC(2024, 0, 1, 4, 30), Date.UTC(2020, 1, 29)],
    [Date.UTC(2024, 1, 29), Date.UTC(2024, 0, 1, 4, 30), Date.UTC(2024, 1, 29)],
    [Date.UTC(2030, 6, 1), Date.UTC(2030, 0, 1, 4, 30), Date.UTC(2028, 1, 29)],
  ];
  for (const [now, newYear, leapDay] of cases) {
    expect(iso(yearly.newest(now))).toBe(iso(newYear));
    expect(iso(leap.newest(now))).toBe(iso(leapDay));
  }
});

test('the same object answers right whatever the order of the questions', () => {
  const cronTime = new CronTime('0 */5 * * * *', 'America/New_York');
  const asked = new CronTicks(cronTime);
  const around = Date.UTC(2026, 10, 1, 6);
  // Neighbours, jumps far forwards and far back, and the same instant twice.
  for (const offset of [
    0,
    1,
    299_999,
    300_000,
    600_000,
    600_000,
    -1,
    40 * DAY,
    40 * DAY + 5 * MINUTE,
    -DAY,
    DAY,
    2,
  ]) {
    const now = around + offset;
    expect(asked.newest(now)).toBe(Math.floor(now / 300_000) * 300_000);
  }
});

test('one question for each date when time goes on, and none between two dates', () => {
  const cronTime = counted(new CronTime('* * * * * *', 'UTC'));
  const ticks = new CronTicks(cronTime);
  const begin = Date.UTC(2026, 5, 1);
  ticks.newest(begin);
  cronTime.questions = 0;
  for (let now = begin; now <= begin + 20_000; now += 100) ticks.newest(now);
  expect(cronTime.questions).toBe(20);
});

test('the date before the newest one is known as well: to look back and forth asks nothing', () => {
  const cronTime = counted(new CronTime('*/10 * * * *', 'UTC'));
  const ticks = new CronTicks(cronTime);
  const begin = Date.UTC(2026, 5, 1);
  ticks.newest(begin);
  ticks.newest(begin + 10 * MINUTE);
  cronTime.questions = 0;
  for (let round = 0; round < 5; round++) {
    expect(ticks.newest(begin + 1)).toBe(begin);
    expect(ticks.next(begin + 1)).toBe(begin + 10 * MINUTE);
    expect(ticks.next(begin + 10 * MINUTE)).toBe(begin + 20 * MINUTE);
  }
  expect(cronTime.questions).toBe(0);
  expect(ticks.newest(begin - 1)).toBe(begin - 10 * MINUTE);
  expect(ticks.next(begin - 1)).toBe(begin);
});

test.each([
  // Four where dates are regular: the next one, the one after it, the newest one, and that nothing follows it.
  ['* * * * * *', 4],
  ['*/10 * * * *', 4],
  ['30 2 * * *', 4],
  ['5 4 1 * *', 4],
  ['0 30 4 1 1 *', 4],
  ['0 0 0 29 2 *', 4],
  ['0 9-17/4 * * 1-5', 20],
  ['0 0 0 31 * *', 16],
  // Thousands of dates on one day, and none for years.
  ['* * 29 2 *', 48],
  ['* * * 29 2 *', 48],
  ['* * * * * 1', 48],
])('a search for "%s" from nothing asks at most %i times, however long the pause was', (expression, most) => {
  const cronTime = counted(new CronTime(expression, 'UTC'));
  let worst = 0;
  for (let pause = 0; pause < 15; pause++) {
    const now = Date.UTC(2026, 10, 21, 11, 53, 20) - pause * 167.37 * DAY;
    cronTime.questions = 0;
    expect(new CronTicks(cronTime).newest(now)).toBeLessThanOrEqual(now);
    worst = Math.max(worst, cronTime.questions);
  }
  expect(worst).toBeLessThanOrEqual(most);
});

test('an offset from UTC is kept in all its forms', () => {
  for (const offset of [0, 330, -210, 60, -660, 345]) {
    const ticks = new CronTicks(new CronTime('0 0 3 * * *', null, offset));
    const three = Date.UTC(2026, 6, 10, 3) - offset * MINUTE;
    expect([ticks.newest(three - 1), ticks.newest(three), ticks.newest(three + HOUR)]).toEqual([
      three - DAY,
      three,
      three,
    ]);
  }
  const schedules = [330, -210].map(
    (offset) => new CronTicks(new CronTime('0 0 3 * * *', null, offset)).schedule,
  );
  expect(schedules).toEqual(['0 0 3 * * * (UTC+05:30)', '0 0 3 * * * (UTC-03:30)']);
});

test('a Date is its own tick from its time on, and none before', () => {
  const date = new Date(Date.UTC(2027, 0, 1, 12, 0, 0, 250));
  const ticks = new CronTicks(new CronTime(date, 'Europe/Berlin'));
  expect(ticks.newest(date.getTime() - 1)).toBeUndefined();
  expect(ticks.newest(date.getTime())).toBe(date.getTime());
  expect(ticks.newest(date.getTime() + 400 * DAY)).toBe(date.getTime());
});

test('an expression that never had a date has no tick', () => {
  const cronTime = new CronTime('0 0 0 30 2 *', 'UTC');
  expect(new CronTicks(cronTime).newest(Date.UTC(2026, 10, 21))).toBeUndefined();
});

describe('the next date', () => {
  const noon = Date.UTC(2026, 6, 1, 12);

  test('is the first one after now, also when now is one, and whatever was asked before', () => {
    const ticks = new CronTicks(new CronTime('0 0 * * * *', 'UTC'));
    for (const now of [noon, noon + 1, noon + HOUR - 1]) expect(ticks.next(now)).toBe(noon + HOUR);
    expect(ticks.next(noon + HOUR)).toBe(noon + 2 * HOUR);
    expect(ticks.next(noon - 1)).toBe(noon);
  });

  test('of a date is that date, and there is none after it', () => {
    const ticks = new CronTicks(new CronTime(new Date(noon)));
    expect([noon - 1, noon].map((now) => ticks.next(now))).toEqual([noon, Infinity]);
  });

  test('may be years away, and there may be none', () => {
    expect(new CronTicks(new CronTime('0 0 0 29 2 *', 'UTC')).next(noon)).toBe(Date.UTC(2028, 1, 29));
    expect(new CronTicks(new CronTime('0 0 0 30 2 *', 'UTC')).next(noon)).toBe(Infinity);
  });
});
