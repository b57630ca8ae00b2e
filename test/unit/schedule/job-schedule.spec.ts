import 'reflect-metadata';
import { describe, expect, jest, test } from '@jest/globals';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import type { CronTimeLike } from '../../../lib/schedule/cron-dates.js';
import { JobSchedule } from '../../../lib/schedule/job-schedule.js';
import { CronTime } from './support/cron-time.js';

const NOW = Date.UTC(2026, 6, 10, 12, 0, 30);
const NIGHTLY = '0 0 3 * * *';

class Jobs {
  @Cron(NIGHTLY, { name: 'named', timeZone: 'UTC' })
  named(): void {}

  @Cron(NIGHTLY, { timeZone: 'Asia/Kolkata' })
  zoned(): void {}

  @Cron(NIGHTLY, { utcOffset: -180 })
  offset(): void {}

  @Cron(NIGHTLY)
  local(): void {}

  @Cron(new Date(NOW - 5_000))
  once(): void {}

  @Cron(new Date(NOW + 5_000))
  later(): void {}

  @Cron(NIGHTLY, { disabled: true })
  disabled(): void {}

  @Interval(1_500)
  interval(): void {}

  @Timeout(1_500)
  timeout(): void {}

  plain(): void {}
}

/** A registry of `@nestjs/schedule`: jobs without a name of their own have random ones. */
function registry(...cronTimes: (CronTimeLike | readonly [string, CronTimeLike])[]) {
  const entries = cronTimes.map((job, index) =>
    Array.isArray(job)
      ? (job as [string, CronTimeLike])
      : ([`random-${index}`, job as CronTimeLike] as const),
  );
  const jobs = new Map(entries.map(([name, cronTime]) => [name, { cronTime }]));
  return () => jobs;
}

const schedule = (key: keyof Jobs, jobs: ReturnType<typeof registry> = registry()): JobSchedule | undefined =>
  JobSchedule.of(Jobs.prototype[key], jobs);

test('a job with a name has the dates of the job of that name, whatever its expression is by now', () => {
  const jobs = registry(new CronTime(NIGHTLY, 'UTC'), ['named', new CronTime('0 0 5 * * *', 'UTC')]);
  expect(schedule('named', jobs)?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 10, 5),
    schedule: '0 0 5 * * * (UTC)',
  });
});

test('a job of a name that the scheduler does not know has no tick, though another one looks the same', () => {
  expect(schedule('named', registry(new CronTime(NIGHTLY, 'UTC')))?.startAt(NOW)).toEqual({});
});

test('a job without a name has the dates of any job of its expression and zone', () => {
  const jobs = registry(
    new CronTime(NIGHTLY, 'UTC'),
    new CronTime('0 0 4 * * *', 'Asia/Kolkata'),
    new CronTime(NIGHTLY, 'Asia/Kolkata'),
  );
  expect(schedule('zoned', jobs)?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 9, 21, 30),
    schedule: `${NIGHTLY} (Asia/Kolkata)`,
  });
});

test('an offset from UTC tells jobs apart as a zone does', () => {
  const jobs = registry(
    new CronTime(NIGHTLY, 'UTC'),
    new CronTime(NIGHTLY, null, 60),
    new CronTime(NIGHTLY, null, -180),
  );
  expect(schedule('offset', jobs)?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 10, 6),
    schedule: `${NIGHTLY} (UTC-03:00)`,
  });
  expect(schedule('offset', registry(new CronTime(NIGHTLY, null, 60)))?.startAt(NOW)).toEqual({});
});

test("a job without a zone has the machine's", () => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const elsewhere = timeZone === 'Asia/Tokyo' ? 'Asia/Kolkata' : 'Asia/Tokyo';
  expect(schedule('local', registry(new CronTime(NIGHTLY, elsewhere)))?.startAt(NOW)).toEqual({});
  const start = schedule('local', registry(new CronTime(NIGHTLY)))?.startAt(NOW);
  expect(start?.schedule).toBe(`${NIGHTLY} (${timeZone})`);
  expect(start?.tick).toBeLessThanOrEqual(NOW);
});

test("a job without a zone is found also where `cron` does not say that it has taken the machine's", () => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  /** As version 3 of `cron` has it, that of version 5 of `@nestjs/schedule`. */
  const silent = (utcOffset?: number): CronTimeLike => {
    const cronTime = new CronTime(NIGHTLY, utcOffset === undefined ? timeZone : null, utcOffset);
    const ask = (start: Date, zone?: string) => cronTime.getNextDateFrom(start, zone);
    return { source: NIGHTLY, utcOffset, realDate: false, getNextDateFrom: ask };
  };
  const said = schedule('local', registry(new CronTime(NIGHTLY)))?.startAt(NOW);
  expect(schedule('local', registry(silent(60), silent()))?.startAt(NOW)).toEqual(said);
  expect(schedule('local', registry(silent(60)))?.startAt(NOW)).toEqual({});
  expect(schedule('offset', registry(silent(), silent(-180)))?.startAt(NOW).tick).toBe(
    Date.UTC(2026, 6, 10, 6),
  );
});

test('a Date is its own tick, found by its time', () => {
  const jobs = registry(new CronTime(new Date(NOW - 6_000)), new CronTime(new Date(NOW - 5_000)));
  expect(schedule('once', jobs)?.startAt(NOW).tick).toBe(NOW - 5_000);
  expect(schedule('later', registry(new CronTime(new Date(NOW + 5_000))))?.startAt(NOW)).toEqual({});
});

test('a job that the scheduler makes late, or gives other times, is looked up anew', () => {
  const jobs = new Map<string, { cronTime: CronTimeLike }>();
  const found = JobSchedule.of(Jobs.prototype.named, () => jobs);
  expect(found?.startAt(NOW)).toEqual({});
  jobs.set('named', { cronTime: new CronTime(NIGHTLY, 'UTC') });
  expect(found?.startAt(NOW).tick).toBe(Date.UTC(2026, 6, 10, 3));
  jobs.set('named', { cronTime: new CronTime('0 * * * * *', 'UTC') });
  expect(found?.startAt(NOW).tick).toBe(NOW - 30_000);
});

test('what was prepared is not asked for again', () => {
  const cronTime = new CronTime(NIGHTLY, 'Asia/Kolkata');
  let questions = 0;
  const counted: CronTimeLike = {
    source: cronTime.source,
    timeZone: cronTime.timeZone,
    realDate: false,
    getNextDateFrom: (start, zone) => {
      questions += 1;
      return cronTime.getNextDateFrom(start, zone);
    },
  };
  const zoned = schedule('zoned', registry(counted));
  zoned?.prepare(NOW);
  expect(questions).toBeGreaterThan(0);
  questions = 0;
  zoned?.startAt(NOW + 1_000);
  expect(questions).toBe(0);
});

describe('hundreds of jobs of one expression without a name', () => {
  const JOBS = 300;
  /** The questions to `cron` of one search where dates are regular, and what it asks besides around changes of clocks. */
  const SEARCH = 8;
  const { timeZone: here } = Intl.DateTimeFormat().resolvedOptions();
  const elsewhere = here === 'Asia/Tokyo' ? 'Asia/Kolkata' : 'Asia/Tokyo';
  let questions: number;
  let lookUps: number;

  /** One that the scheduler has made, in a zone of its own or in that of the machine. */
  const made = (timeZone: string): CronTimeLike => ({
    source: NIGHTLY,
    timeZone,
    realDate: false,
    getNextDateFrom: (start) => {
      questions += 1;
      const day = 86_400_000;
      return { toMillis: () => (Math.floor(start.getTime() / day) + 1) * day };
    },
  });

  /** Asks each of them for its newest tick, as a new leader does. */
  function elect(cronTimes: CronTimeLike[]): number {
    questions = 0;
    const jobs = registry(...cronTimes);
    const schedules = Array.from({ length: JOBS }, () => schedule('local', jobs));
    const lookUp = jest.spyOn(Intl, 'DateTimeFormat');
    const ticks = new Set(schedules.map((each) => each?.startAt(NOW).tick));
    lookUps = lookUp.mock.calls.length;
    lookUp.mockRestore();
    return ticks.size;
  }

  test('cost a new leader one search for dates, and one look for the zone each', () => {
    expect(elect(Array.from({ length: JOBS }, () => made(here)))).toBe(1);
    expect(questions).toBeLessThanOrEqual(SEARCH);
    expect(lookUps).toBeLessThanOrEqual(JOBS);
  });

  test('cost it no more where as many of other zones come before them', () => {
    const others = Array.from({ length: JOBS }, () => made(elsewhere));
    expect(elect([...others, ...Array.from({ length: JOBS }, () => made(here))])).toBe(1);
    expect(lookUps).toBeLessThanOrEqual(JOBS);
  });
});

test('an interval starts by its length, without a tick', () => {
  const interval = schedule('interval');
  expect(interval?.startAt(NOW)).toEqual({ interval: 1_500 });
  expect(interval?.isCron).toBe(false);
  interval?.prepare(NOW);
});

test('a disabled cron job is none that the scheduler makes', () => {
  expect(schedule('disabled')?.isCron).toBe(false);
  expect(schedule('disabled')?.startAt(NOW)).toEqual({});
  expect(schedule('zoned')?.isCron).toBe(true);
});

test('timeouts and plain methods have no schedule', () => {
  expect(schedule('timeout')).toBeUndefined();
  expect(schedule('plain')).toBeUndefined();
});

test('a zone of null, as configuration may give it, is the local one', () => {
  class Configured {
    // The types forbid it; values from a file do not ask.
    @Cron(NIGHTLY, { timeZone: null } as unknown as { timeZone: string })
    nightly(): void {}
  }
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const jobs = registry(new CronTime(NIGHTLY, timeZone));
  expect(JobSchedule.of(Configured.prototype.nightly, jobs)?.startAt(NOW).tick).toBeDefined();
});

test('what is in the registry and is no cron job is passed over', () => {
  const odd = ['odd', undefined] as unknown as readonly [string, CronTimeLike];
  const jobs = registry(odd, new CronTime(NIGHTLY, 'Asia/Kolkata'));
  const zoned = schedule('zoned', jobs);
  expect(zoned?.startAt(NOW).tick).toBeDefined();
});
