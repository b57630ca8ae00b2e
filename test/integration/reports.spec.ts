import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  currentLock,
  type Lock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  SchedulerLockService,
} from '../../lib/index.js';
import { runUnlocked } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

/* What runs report, and what is expected of them. */

afterEach(closeApps);

@Injectable()
class Invoices {
  values: Record<string, number | string> | undefined = { invoices: 120 };
  lock: Lock | undefined;

  @Cron('0 3 * * *', { timeZone: 'UTC', name: 'send' })
  @SchedulerLock({ name: 'invoices', expect: { invoices: { min: 1 } } })
  async send(): Promise<void> {
    this.lock = currentLock();
    if (this.values !== undefined) currentLock().report(this.values);
  }

  @SchedulerLock({ name: 'kept', onHeld: 'queue', expect: { rows: { min: 1 } } })
  async kept(): Promise<void> {}
}

async function start() {
  const app = await startApp([Invoices], { store: new MemoryLockStore() });
  const [insight, jobs] = [app.get(SchedulerLockInsight), app.get(Invoices)];
  const last = async () => (await insight.runs({ job: 'Invoices.send' }))[0];
  return { app, insight, jobs, last };
}

test('what a run reports is kept with it, and told with its end', async () => {
  const { app, jobs, last } = await start();
  await jobs.send();
  expect(await last()).toMatchObject({ outcome: 'completed', report: { invoices: 120 } });
  expect(app.events.find(({ type }) => type === 'released')).toMatchObject({ report: { invoices: 120 } });
});

test.each([
  ['too little', { invoices: 0 }, 'reported 0 invoices; expected at least 1'],
  ['nothing', undefined, 'reported no invoices; expected at least 1'],
])(
  'a run that completes and reports %s is hollow: in its record, by an event, and in the log',
  async (_, values, shortfall) => {
    const { app, jobs, last } = await start();
    jobs.values = values;
    await jobs.send();
    expect(await last()).toMatchObject({ outcome: 'hollow', shortfall });
    expect(app.events.find(({ type }) => type === 'released')).toMatchObject({
      outcome: 'hollow',
      shortfall,
    });
    expect(app.logs.own).toContain(`warn: Invoices.send [invoices]: it ran and completed, but ${shortfall}`);
  },
);

test('a report after the end of the run, or of what cannot be kept, is refused', async () => {
  const { jobs, last } = await start();
  await jobs.send();
  expect(() => jobs.lock?.report({ late: 1 })).toThrow(/its job has ended/);
  jobs.values = { invoices: NaN };
  await expect(jobs.send()).rejects.toThrow(/report\(\): invoices: NaN is neither a finite number/);
  expect(await last()).toMatchObject({ outcome: 'failed' });
});

test('a queued call whose run is hollow has run: it is delivered once, and is no dead letter', async () => {
  const { app, jobs } = await start();
  const locks = app.get(SchedulerLockService);
  await using held = await locks.acquire('kept');
  await jobs.kept();
  await held.release();
  const ends = () => app.events.filter((event) => event.type === 'released' && event.job === 'Invoices.kept');
  await until(() => ends().length > 0);
  expect(ends()).toMatchObject([{ outcome: 'hollow' }]);
  const [kept] = await until(async () => {
    const all = await locks.inspect(['kept']);
    return all[0]?.state === 'free' && all;
  });
  expect(kept).not.toHaveProperty('queued');
  expect(kept).not.toHaveProperty('dead');
});

test('in a unit test the job reports to whoever asks', async () => {
  const reports: unknown[] = [];
  await runUnlocked(() => new Invoices().send(), { onReport: (report) => void reports.push(report) });
  expect(reports).toEqual([{ invoices: 120 }]);
});
