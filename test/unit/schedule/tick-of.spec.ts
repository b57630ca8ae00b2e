import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../lib/base/errors.js';
import { tickOf } from '../../../lib/schedule/cron-ticks.js';
import { CronTime } from './support/cron-time.js';

const NOON = Date.UTC(2026, 6, 10, 12);
const HOUR = 3_600_000;

afterEach(() => void jest.restoreAllMocks());

const at = (now: number): void => void jest.spyOn(Date, 'now').mockReturnValue(now);

describe('the tick of a cron job of your own', () => {
  test.each([0, 1, HOUR - 1])('is its newest date that has come, %d ms after it', (late) => {
    at(NOON + late);
    expect(tickOf({ cronTime: new CronTime('0 0 * * * *', 'UTC') })).toBe(NOON);
  });

  test('is that of the zone of the job', () => {
    at(NOON);
    expect(tickOf({ cronTime: new CronTime('0 30 3 * * *', 'Asia/Kolkata') })).toBe(Date.UTC(2026, 6, 9, 22));
  });

  test('is the date of a job that has only one, and there is none before', () => {
    const job = { cronTime: new CronTime(new Date(NOON)) };
    at(NOON - 1);
    expect(tickOf(job)).toBeUndefined();
    at(NOON);
    expect(tickOf(job)).toBe(NOON);
  });

  test.each([[undefined], [null], [{}], [{ cronTime: '0 0 * * * *' }]])('is an error for %j', (job) => {
    expect(() => tickOf(job as never)).toThrow(SchedulerLockConfigError);
    expect(() => tickOf(job as never)).toThrow(/is no cron job\. Give a CronJob of the package cron\./);
  });
});
