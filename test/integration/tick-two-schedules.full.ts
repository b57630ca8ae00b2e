import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, startModule, type TestApp } from './app.js';
import { acquired, fleetsOnRedis, skipped } from './tick-support.js';
import { isEvent } from '../support/events.js';

afterEach(closeApps);
const shared = fleetsOnRedis();

const EVERY = 400;
const YEARLY = '0 0 1 1 *';

test('an interval above @Cron() runs once per interval over the fleet, as the scheduler fires only the interval', async () => {
  @Injectable()
  class Jobs {
    @Interval(EVERY)
    @Cron(YEARLY)
    @SchedulerLock()
    async sync(): Promise<void> {}
  }
  const options = shared();
  const apps = [await startApp([Jobs], options), await startApp([Jobs], options)];
  const decided = (app: TestApp): number => acquired(app).length + skipped(app).length;
  await until(() => apps.every((app) => decided(app) >= 4));
  expect(apps.flatMap(skipped).map(({ reason }) => reason)).toContain('already-ran');
});

test('the start tells of a schedule that the scheduler leaves out', async () => {
  @Injectable()
  class Jobs {
    @Interval(60_000)
    @Cron(YEARLY)
    @SchedulerLock()
    async sync(): Promise<void> {}

    @Cron(YEARLY, { name: 'both' })
    @SchedulerLock()
    @Timeout(3_600_000)
    async both(): Promise<void> {}

    @Cron(YEARLY)
    @SchedulerLock()
    async one(): Promise<void> {}
  }
  const app = await startApp([Jobs]);
  expect(app.logs.own).toContain(
    'warn: A method has one schedule, that of the decorator on top: Jobs.sync is fired by @Interval(), not by @Cron(); Jobs.both is fired by @Cron(), not by @Timeout(). Give the other schedule a method of its own.',
  );
  expect([...app.get(SchedulerRegistry).getCronJobs().keys()]).toHaveLength(2);
});

test('a schedule that is left out does not keep an instance from leading', async () => {
  @Injectable()
  class Jobs {
    @Interval(60_000)
    @Cron(YEARLY)
    @SchedulerLock()
    async sync(): Promise<void> {}
  }
  const app = await startModule({
    imports: [
      ScheduleModule.forRoot({ cronJobs: false }),
      SchedulerLockModule.forRoot({ ...shared(), leader: { name: 'scheduler' } }),
    ],
    providers: [Jobs],
  });
  await until(() => app.events.some(isEvent('leader-elected')));
});
