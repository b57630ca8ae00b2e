import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Cron, Interval } from '@nestjs/schedule';
import { MemoryLockStore, SchedulerLock, type SchedulerLockOptions } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

afterEach(closeApps);

type Class = new () => object;

/** A class of this name, as a bundler may have made it, with a job. */
function build(
  name: string,
  lock: SchedulerLockOptions = {},
  schedule: MethodDecorator = Cron('0 3 * * *', { timeZone: 'UTC' }),
): Class {
  const Jobs = { [name]: class {} }[name] as Class;
  const descriptor: PropertyDescriptor = { configurable: true, writable: true, value: async () => undefined };
  SchedulerLock(lock)(Jobs.prototype as object, 'send', descriptor);
  schedule(Jobs.prototype as object, 'send', descriptor);
  Object.defineProperty(Jobs.prototype, 'send', descriptor);
  return Jobs;
}

function fleet() {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const store = new MemoryLockStore({ clock });
  const start = async (instanceId: string, ...jobs: Class[]): Promise<TestApp> => {
    const app = await startApp(jobs, { store, clock, instanceId });
    const isKnown = async (): Promise<boolean> =>
      (await store.history.instances()).some(({ instance }) => instance === instanceId);
    await until(isKnown, { message: 'its first beat' });
    await clock.advance(1);
    return app;
  };
  return { start, clock };
}

const told = ({ logs }: TestApp): string[] => logs.own.filter((line) => line.includes('renamed'));

test.each([
  ['InvoiceJobs', 'InvoiceJobs2'],
  ['InvoiceJobs', '_InvoiceJobs'],
  ['InvoiceJobs$1', 'InvoiceJobs'],
])(
  'a build that calls %s %s is told so at its start, while one of the other name is up',
  async (before, after) => {
    const { start } = fleet();
    const old = await start('blue', build(before));
    const one = await start('green', build(after));
    expect(told(old)).toEqual([]);
    expect(told(one)).toEqual([
      `warn: Was ${before}.send renamed? The live instance blue has it, and this one has ${after}.send with the same schedule: each tick runs under ` +
        `both names. Give the method a fixed job: '${before}.send', or have the bundler keep the names of classes.`,
    ]);
  },
);

test('so is one that guards the same lock on the same schedule under another job name', async () => {
  const { start } = fleet();
  await start(
    'blue',
    build('InvoiceJobs', { name: 'invoices' }),
    build('Mails', { name: 'mails' }, Interval(60_000)),
  );
  const app = await start(
    'green',
    build('Billing', { name: 'invoices' }),
    build('Letters', { name: 'mails' }, Interval(60_000)),
  );
  expect(told(app)).toEqual([
    expect.stringContaining(
      'Was InvoiceJobs.send renamed? The live instance blue has it, and this one has Billing.send',
    ),
    expect.stringContaining(
      'Was Mails.send renamed? The live instance blue has it, and this one has Letters.send',
    ),
  ]);
});

test('not told of are other locks, other schedules, jobs that both have, names that are no classes, and instances that are gone', async () => {
  const { start, clock } = fleet();
  const gone = await start('gone', build('_Mails'));
  await gone.close();
  await clock.advance(600_000);
  const shared = { name: 'shared' };
  await start(
    'blue',
    build('InvoiceJobs'),
    build('Reports', shared),
    build('Orders2', {}, Cron('0 4 * * *')),
    build('Imports', { job: 'tenant-1' }),
  );
  const app = await start(
    'green',
    build('Mails'),
    build('Reports', shared),
    build('Others', shared),
    build('Orders', {}, Cron('0 5 * * *')),
    build('Imports', { job: 'tenant-2' }),
  );
  expect(told(app)).toEqual([]);
});
