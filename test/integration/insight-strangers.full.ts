import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { MemoryLockStore, SchedulerLock } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

afterEach(closeApps);

@Injectable()
class ReportJobs {
  @Cron('0 0 3 * * *', { name: 'ReportJobs.send' })
  @SchedulerLock()
  async send(): Promise<void> {}
}

@Injectable()
class OtherJobs {
  @Cron('0 0 3 * * *', { name: 'OtherJobs.send' })
  @SchedulerLock()
  async send(): Promise<void> {}
}

@Injectable()
class CalledByHand {
  @SchedulerLock({ job: 'ReportJobs.send', name: 'ReportJobs.send' })
  async send(): Promise<void> {}
}

/** Applications of one store, whose instances are looked for by then. */
function applications() {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  let started = 0;
  const start = async (application: string, job: new () => object, enabled = true): Promise<TestApp> => {
    const instanceId = `${application}-${++started}`;
    const app = await startApp([job], { store, clock, instanceId, enabled, insight: { application } });
    await until(
      async () => (await store.history.instances()).some(({ instance }) => instance === instanceId),
      {
        message: 'its first beat',
      },
    );
    await clock.advance(1);
    return app;
  };
  return { start, store };
}

const warnings = ({ logs }: TestApp): string[] => logs.own.filter((line) => line.includes('application'));

test('the second of two applications that have a job of one name in one store is told of it, with the remedy', async () => {
  const { start } = applications();
  const one = await start('invoices', ReportJobs);
  const two = await start('billing', ReportJobs);
  expect(warnings(one)).toEqual([]);
  expect(warnings(two)).toEqual([
    expect.stringMatching(
      /^warn: The application "invoices" \(instance invoices-1\) has jobs .* as "billing": ReportJobs\.send\. .*keyPrefix on Redis, schema or table in a database/,
    ),
  ]);
});

test('not told of are instances of one application, other jobs, calls by hand, and jobs that are switched off', async () => {
  const { start } = applications();
  const apps = [
    await start('invoices', ReportJobs),
    await start('invoices', ReportJobs),
    await start('orders', OtherJobs),
    await start('tools', CalledByHand),
    await start('web', ReportJobs, false),
  ];
  expect(apps.flatMap(warnings)).toEqual([]);
});

test('an application that was shut down is not told of', async () => {
  const { start } = applications();
  const one = await start('invoices', ReportJobs);
  await one.close();
  expect(warnings(await start('billing', ReportJobs))).toEqual([]);
});

test('an instance tells the name of its application', async () => {
  const { start, store } = applications();
  await start('invoices', ReportJobs);
  expect(await store.history.instances()).toMatchObject([{ application: 'invoices' }]);
});
