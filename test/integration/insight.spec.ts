import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import {
  type Lock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  SchedulerLockService,
  type SchedulerLockModuleOptions,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, startFailure, type TestApp } from './app.js';

/* Who ran what, as an application tells the store, and reads it back. */

afterEach(closeApps);

@Injectable()
class Jobs {
  act: (lock?: Lock) => unknown = () => undefined;

  @Cron('0 3 * * *', { name: 'nightly', timeZone: 'Europe/Berlin' })
  @SchedulerLock({ name: 'night', job: 'nightly' })
  async nightly(): Promise<void> {
    await this.act();
  }

  @Interval('often', 3_600_000)
  @SchedulerLock()
  async often(): Promise<void> {
    await this.act();
  }

  @SchedulerLock({ name: 'by-hand', onHeld: 'queue' })
  async byHand(): Promise<void> {
    await this.act();
  }

  @SchedulerLock({ name: (id: string) => `import-${id}` })
  async imports(_id: string): Promise<void> {
    await this.act();
  }
}

const start = (store: MemoryLockStore, options: SchedulerLockModuleOptions = {}): Promise<TestApp> =>
  startApp([Jobs], { store, instanceId: 'api-1', ...options });

test('runs by the scheduler, by hand, of dynamic jobs and of queued calls are remembered with their outcome', async () => {
  const app = await start(new MemoryLockStore());
  const [jobs, locks, insight] = [
    app.get(Jobs),
    app.get(SchedulerLockService),
    app.get(SchedulerLockInsight),
  ];
  await app.fire('nightly');
  await until(async () => (await insight.runs({ lock: 'night' })).length === 1);
  jobs.act = () => Promise.reject(new TypeError('cannot reach redis://user:secret@host/0'));
  await jobs.nightly().catch(() => undefined);
  jobs.act = () => undefined;
  await jobs.byHand();
  locks.cron('dynamic', '0 4 * * *', { timeZone: 'UTC' }, async () => undefined);
  await app.fire('dynamic');
  const [entered, leave] = [gate(), gate()];
  const holding = locks.run('by-hand', async () => {
    entered.open();
    await leave.opened;
  });
  await entered.opened;
  await jobs.byHand();
  leave.open();
  await holding;
  await until(async () => (await insight.runs()).length === 5);
  const runs = await insight.runs();
  expect(runs.map(({ job, outcome, tick }) => [job, outcome, tick !== undefined]).sort()).toEqual([
    ['Jobs.byHand', 'completed', false],
    ['Jobs.byHand', 'completed', false],
    ['dynamic', 'completed', true],
    ['nightly', 'completed', true],
    ['nightly', 'failed', false],
  ]);
  const [failed] = await insight.runs({ job: 'nightly', bad: true });
  expect(failed).toMatchObject({ instance: 'api-1', error: 'TypeError: cannot reach redis://***@host/0' });
});

test('locks without a decorator, and those whose names come from arguments, are remembered only if asked for', async () => {
  const app = await start(new MemoryLockStore());
  const [jobs, locks, insight] = [
    app.get(Jobs),
    app.get(SchedulerLockService),
    app.get(SchedulerLockInsight),
  ];
  await jobs.imports('7');
  await locks.run('plain', () => undefined);
  expect(await insight.runs({ lock: 'import-7' })).toEqual([]);
  expect(await insight.runs({ lock: 'plain' })).toEqual([]);
  await locks.run('plain', { history: true, job: 'asked' }, () => undefined);
  expect(await insight.runs({ lock: 'plain' })).toMatchObject([{ job: 'asked', outcome: 'completed' }]);
});

test('the fleet knows each instance, its jobs and their schedules, and that it has left', async () => {
  const store = new MemoryLockStore();
  const app = await start(store, { insight: { version: '1.2.3' } });
  const other = await startApp([], { store, instanceId: 'reader' });
  const insight = other.get(SchedulerLockInsight);
  await until(async () => (await insight.instances()).length === 2);
  const [api] = (await insight.instances()).filter(({ instance }) => instance === 'api-1');
  expect(api).toMatchObject({ state: 'up', version: '1.2.3', leads: [] });
  expect(
    api?.jobs.map(({ job, kind, schedule, timeZone, interval }) => ({
      job,
      kind,
      schedule,
      timeZone,
      interval,
    })),
  ).toEqual([
    { job: 'nightly', kind: 'cron', schedule: '0 3 * * *', timeZone: 'Europe/Berlin' },
    { job: 'Jobs.often', kind: 'interval', interval: 3_600_000 },
    { job: 'Jobs.byHand', kind: 'hand' },
    { job: 'Jobs.imports', kind: 'hand' },
  ]);
  expect(await insight.job('nightly')).toMatchObject({ status: 'new', instances: ['api-1'] });
  await app.close();
  const left = (await insight.instances()).find(({ instance }) => instance === 'api-1');
  expect(left).toMatchObject({ state: 'left' });
});

test('insight: false leaves no trace in the store', async () => {
  const store = new MemoryLockStore();
  const app = await start(store, { insight: false });
  await app.fire('nightly');
  expect(await store.history.entries({ name: 'night', limit: 10 })).toEqual([]);
  expect(await store.history.instances()).toEqual([]);
});

test('options of insight that cannot work stop the start, each with what to do', async () => {
  const insight = {
    keep: 0,
    beat: 5,
    overdue: '1m',
    error: 'all',
    application: '',
    version: 7,
    speed: 1,
  };
  const message = await startFailure(
    start(new MemoryLockStore(), { insight } as unknown as SchedulerLockModuleOptions),
  );
  for (const part of [
    'insight.speed: there is no such option here. There are keep, beat, error, application, version.',
    'insight.keep: 0 is no whole number from 1 to 10000.',
    "insight.beat: 5 is out of range. Give 1 s to 1 h, or 'with-ticks'.",
    'insight.overdue: there is no such option here. There are keep, beat, error, application, version.',
    "insight.error: 'all' is no function, and not one of 'none', 'type', 'message'.",
    "insight.application: '' is no name.",
    'insight.version: 7 is no text.',
  ])
    expect(message).toContain(part);
});

test.each([
  ['none', undefined],
  ['type', 'RangeError'],
  [(error: unknown) => `code ${String(Reflect.get(Object(error), 'code'))}`, 'code 42'],
] as const)('of an error is kept what insight.error says: %s', async (error, kept) => {
  const app = await start(new MemoryLockStore(), { insight: { error } });
  app.get(Jobs).act = () => Promise.reject(Object.assign(new RangeError('of Jane Doe'), { code: 42 }));
  await app
    .get(Jobs)
    .byHand()
    .catch(() => undefined);
  const [run] = await app.get(SchedulerLockInsight).runs({ lock: 'by-hand' });
  expect(run).toMatchObject({ outcome: 'failed' });
  expect(run?.error).toBe(kept);
});
