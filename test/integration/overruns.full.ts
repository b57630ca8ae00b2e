import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, CronExpression, Interval } from '@nestjs/schedule';
import { SchedulerLock, type SchedulerLockEvent, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';

afterEach(closeApps);

const timeZone = 'UTC';

type Overrun = Extract<SchedulerLockEvent, { type: 'overrun' }>;
const overruns = (app: TestApp): Overrun[] =>
  app.events.filter((event): event is Overrun => event.type === 'overrun');
const skippedTicks = (app: TestApp): number =>
  app.events.reduce((sum, event) => sum + ((event.type === 'released' && event.skippedTicks) || 0), 0);

/** Jobs that hang until the test lets them go on. */
function jobs(hang: () => Promise<void>) {
  @Injectable()
  class Cronned {
    @Cron(CronExpression.EVERY_SECOND, { timeZone })
    @SchedulerLock({ name: 'job', job: 'job' })
    async run(): Promise<void> {
      await hang();
    }
  }
  @Injectable()
  class Regular {
    @Interval(200)
    @SchedulerLock({ name: 'job', job: 'job' })
    async run(): Promise<void> {
      await hang();
    }
  }
  @Injectable()
  class Dynamic {
    constructor(private readonly locks: SchedulerLockService) {}
    onModuleInit(): void {
      this.locks.cron('job', CronExpression.EVERY_SECOND, { timeZone }, hang);
    }
  }
  return {
    cron: Cronned,
    interval: Regular,
    'dynamic cron': Dynamic,
  };
}

const kinds = ['cron', 'interval', 'dynamic cron'] as const;

test.each(kinds)(
  'a hung job without a timeout (%s) is seen in the log, once, and its ticks are counted',
  async (kind) => {
    const { opened, open } = gate();
    let runs = 0;
    const hang = (): Promise<void> => {
      runs += 1;
      return runs === 1 ? opened : Promise.resolve();
    };
    const app = await startApp([jobs(hang)[kind]], { store: 'memory', instanceId: 'here' });
    await until(() => overruns(app).length > 0);
    const [{ since = 0, at = 0, tick } = {}] = overruns(app);
    // More ticks, and nothing more is said of them.
    const begun = Date.now();
    await until(() => Date.now() > begun + 2_100);
    open();
    await until(() => skippedTicks(app) >= 2);
    await until(() => runs > 1);
    expect(overruns(app)).toHaveLength(1);
    expect(at).toBeGreaterThan(since);
    expect(overruns(app)).toMatchObject([{ job: 'job', lock: 'job', instance: 'here', skippedTicks: 1 }]);
    expect(tick === undefined).toBe(kind === 'interval');
    const line = app.logs.own.filter((text) => text.startsWith('warn'));
    expect(line).toEqual([
      expect.stringMatching(
        /^warn: job: its next tick came, and it is still running since 20\d\d-.*Z \(.+ m?s\) on here; it has cost 1 tick so far\. If it can hang, give it a timeout\.$/,
      ),
    ]);
  },
);

test('a job that ends in time is no overrun', async () => {
  const app = await startApp([jobs(() => Promise.resolve()).cron]);
  await until(() => app.events.filter(({ type }) => type === 'released').length >= 3);
  expect(overruns(app)).toEqual([]);
  expect(skippedTicks(app)).toBe(0);
});
