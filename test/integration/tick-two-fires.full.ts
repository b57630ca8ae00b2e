import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, CronExpression, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, type Lock, SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { skipped } from './tick-support.js';

afterEach(closeApps);

const timeZone = 'UTC';

/**
 * A process that is so busy that the next date has passed whenever `cron` arms its timer: `cron` fires the job for that date at once
 * ("Missed execution deadline"), and then for the date whose timer it was. These are two dates if a second begins in between.
 */
function fireTwiceInATurn(app: TestApp, job: string): void {
  const { cronTime } = app.get(SchedulerRegistry).getCronJob(job);
  const { getTimeout } = cronTime;
  let hasPassed = false;
  cronTime.getTimeout = () => {
    hasPassed = !hasPassed;
    return hasPassed ? -1 : getTimeout.call(cronTime);
  };
}

test('a dynamic job that cron fires twice in one turn runs once for its date', async () => {
  const runs: Lock[] = [];
  const app = await startApp([]);
  const job = app
    .get(SchedulerLockService)
    .cron('report', CronExpression.EVERY_SECOND, { timeZone, wait: '10s' }, (lock) => void runs.push(lock));
  fireTwiceInATurn(app, 'report');
  await until(() => skipped(app).length > 0);
  job.stop();
  expect(runs.slice(0, 2).filter(({ tick }) => tick === undefined)).toEqual([]);
  expect(new Set(runs.map(({ tick }) => tick)).size).toBe(runs.length);
  expect(new Set(skipped(app).map(({ reason }) => reason))).toEqual(new Set(['already-ran']));
});

test('a decorated job that cron fires twice in one turn runs once for its date', async () => {
  const runs: Lock[] = [];
  @Injectable()
  class Jobs {
    @Cron(CronExpression.EVERY_SECOND, { name: 'report', timeZone })
    @SchedulerLock({ wait: '10s' })
    async report(): Promise<void> {
      runs.push(currentLock());
    }
  }
  const app = await startApp([Jobs]);
  fireTwiceInATurn(app, 'report');
  await until(() => skipped(app).length > 0);
  void app.get(SchedulerRegistry).getCronJob('report').stop();
  expect(new Set(runs.map(({ tick }) => tick)).size).toBe(runs.length);
  expect(new Set(skipped(app).map(({ reason }) => reason))).toEqual(new Set(['already-ran']));
});
