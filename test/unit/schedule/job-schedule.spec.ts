import 'reflect-metadata';
import { describe, expect, jest, test } from '@jest/globals';
import { Cron, Interval, Timeout } from '@nestjs/schedule';
import type { CronTimeLike } from '../../../lib/schedule/scheduler-parts.js';
import { JobSchedule } from '../../../lib/schedule/job-schedule.js';
import { counted, CronTime } from './support/cron-time.js';

const NOW = Date.UTC(2026, 6, 10, 12, 0, 30);
const NIGHTLY = '0 0 3 * * *';

class Jobs {
  @Cron(NIGHTLY)
  nightly(): void {}

  @Cron(NIGHTLY, { disabled: true })
  disabled(): void {}

  @Interval(1_500)
  interval(): void {}

  @Interval(60_000 / 7)
  fraction(): void {}

  @Interval(0.5)
  least(): void {}

  @Interval(NaN)
  none(): void {}

  @Timeout(1_500)
  timeout(): void {}

  plain(): void {}
}

const schedule = (key: keyof Jobs, ...cronTimes: CronTimeLike[]): JobSchedule | undefined =>
  JobSchedule.of(Jobs.prototype[key], () => cronTimes);

test('a job has the dates of the cron job that was made of it, whatever its expression is by now', () => {
  expect(schedule('nightly', new CronTime('0 0 5 * * *', 'UTC'))?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 10, 5),
    schedule: '0 0 5 * * * (UTC)',
  });
});

test('a job that the scheduler has not made has no tick', () => {
  expect(schedule('nightly')?.startAt(NOW)).toEqual({});
});

test('a method of which several jobs were made has the dates of all of them', () => {
  const [three, eleven] = [new CronTime(NIGHTLY, 'UTC'), new CronTime('0 0 11 * * *', 'UTC')];
  for (const times of [
    [three, eleven],
    [eleven, three],
  ]) {
    const both = schedule('nightly', ...times);
    expect(both?.startAt(NOW).tick).toBe(Date.UTC(2026, 6, 10, 11));
    expect(both?.startAt(Date.UTC(2026, 6, 10, 4)).tick).toBe(Date.UTC(2026, 6, 10, 3));
  }
});

test('an offset from UTC is one of its dates', () => {
  expect(schedule('nightly', new CronTime(NIGHTLY, null, -180))?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 10, 6),
    schedule: `${NIGHTLY} (UTC-03:00)`,
  });
});

test('a job that names no zone has the one that `cron` counts in', () => {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const local = schedule('nightly', new CronTime(NIGHTLY))?.startAt(NOW);
  expect(local?.schedule).toBe(`${NIGHTLY} (${timeZone})`);
  // What configuration may give: `cron` takes the empty text for UTC, `null` for nothing.
  expect(schedule('nightly', new CronTime(NIGHTLY, null))?.startAt(NOW)).toEqual(local);
  expect(schedule('nightly', new CronTime(NIGHTLY, ''))?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 10, 3),
    schedule: `${NIGHTLY} (UTC)`,
  });
});

test("where `cron` does not say that it has taken the machine's zone, it is asked", () => {
  /** As version 3 of `cron` has it, that of version 5 of `@nestjs/schedule`. */
  const silent = (zone: string): CronTimeLike => {
    const cronTime = new CronTime(NIGHTLY, zone);
    const ask = (start: Date, name?: string) => cronTime.getNextDateFrom(start, name);
    return {
      source: NIGHTLY,
      realDate: false,
      getNextDateFrom: ask,
      sendAt: () => ({ zoneName: zone }),
    };
  };
  expect(schedule('nightly', silent('Asia/Kolkata'))?.startAt(NOW)).toEqual({
    tick: Date.UTC(2026, 6, 9, 21, 30),
    schedule: `${NIGHTLY} (Asia/Kolkata)`,
  });
});

test('a Date is its own tick when it has come', () => {
  expect(schedule('nightly', new CronTime(new Date(NOW - 5_000)))?.startAt(NOW).tick).toBe(NOW - 5_000);
  expect(schedule('nightly', new CronTime(new Date(NOW + 5_000)))?.startAt(NOW)).toEqual({});
});

test('a job that the scheduler makes late, or gives other times, is looked up anew', () => {
  let cronTimes: CronTimeLike[] = [];
  const found = JobSchedule.of(Jobs.prototype.nightly, () => cronTimes);
  expect(found?.startAt(NOW)).toEqual({});
  cronTimes = [new CronTime(NIGHTLY, 'UTC')];
  expect(found?.startAt(NOW).tick).toBe(Date.UTC(2026, 6, 10, 3));
  cronTimes = [new CronTime('0 * * * * *', 'UTC')];
  expect(found?.startAt(NOW).tick).toBe(NOW - 30_000);
});

test('what was prepared is not asked for again', () => {
  const cronTime = counted(new CronTime(NIGHTLY, 'Asia/Kolkata'));
  const found = schedule('nightly', cronTime);
  found?.startAt(NOW);
  expect(cronTime.questions).toBeGreaterThan(0);
  cronTime.questions = 0;
  found?.startAt(NOW + 1_000);
  expect(cronTime.questions).toBe(0);
});

describe('hundreds of jobs of one expression', () => {
  const JOBS = 300;
  /** The questions to `cron` of one search where dates are regular, and what it asks besides around changes of clocks. */
  const SEARCH = 8;

  /** One version of `cron`, and how often it was asked. */
  function version() {
    const day = 86_400_000;
    let questions = 0;
    class Counted implements CronTimeLike {
      readonly source = NIGHTLY;
      readonly realDate = false;
      constructor(
        readonly timeZone: string,
        private readonly hour: number,
      ) {}
      getNextDateFrom(start: Date) {
        questions += 1;
        const at = this.hour * 3_600_000;
        return { toMillis: () => (Math.floor((start.getTime() - at) / day) + 1) * day + at };
      }
      sendAt() {
        return { zoneName: this.timeZone };
      }
    }
    return { Counted, asked: () => questions };
  }

  /** Asks each of them for its newest tick, as a new leader does: the different ones. */
  const elect = (cronTimes: CronTimeLike[]): Set<number | undefined> =>
    new Set(cronTimes.map((cronTime) => schedule('nightly', cronTime)?.startAt(NOW).tick));

  test('cost a new leader one search for dates, and no look for the zone', () => {
    const { Counted, asked } = version();
    const cronTimes = Array.from({ length: JOBS }, () => new Counted('Europe/Berlin', 1));
    const lookUp = jest.spyOn(Intl, 'DateTimeFormat');
    expect(elect(cronTimes).size).toBe(1);
    const looks = lookUp.mock.calls.length;
    lookUp.mockRestore();
    expect(asked()).toBeLessThanOrEqual(SEARCH);
    expect(looks).toBe(0);
  });

  test('of another zone, or fired by another version of `cron`, have dates of their own', () => {
    const [old, next] = [version(), version()];
    const berlin = new old.Counted('Europe/Berlin', 1);
    const others = [new old.Counted('Asia/Kolkata', 2), new next.Counted('Europe/Berlin', 3)];
    expect(elect([berlin, ...others]).size).toBe(3);
  });
});

test('an interval starts by its length, without a tick', () => {
  const interval = schedule('interval');
  expect(interval?.startAt(NOW)).toEqual({ interval: 1_500 });
  expect(interval?.isCron).toBe(false);
  interval?.startAt(NOW);
});

test('an interval is of whole milliseconds, at least one, as Node counts', () => {
  expect(schedule('fraction')?.startAt(NOW)).toEqual({ interval: 8_571 });
  expect(schedule('least')?.startAt(NOW)).toEqual({ interval: 1 });
  expect(schedule('none')?.startAt(NOW)).toEqual({ interval: 1 });
});

test('a disabled cron job is none that the scheduler starts', () => {
  expect(schedule('disabled')?.isCron).toBe(false);
  expect(schedule('nightly')?.isCron).toBe(true);
});

test('timeouts and plain methods have no schedule', () => {
  expect(schedule('timeout')).toBeUndefined();
  expect(schedule('plain')).toBeUndefined();
});
