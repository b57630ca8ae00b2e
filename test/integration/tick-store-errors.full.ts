import 'reflect-metadata';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  type Duration,
  currentLock,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockInsight,
  SchedulerLockService,
  StoreUnavailableError,
} from '../../lib/index.js';
import type { AcquireRefusal, AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';
import { DAY, daily, dieIn, request, runIn, skipped } from './tick-support.js';

/** A store that can be away. */
class BreakableStore extends MemoryLockStore {
  away = false;
  /** How often it was asked while it was away. */
  asked = 0;

  /** What is answered instead of a lease. */
  refusal: AcquireRefusal | undefined;

  override acquire(asked: AcquireRequest): Promise<AcquireResult> {
    if (!this.away) return this.refusal ? Promise.resolve(this.refusal) : super.acquire(asked);
    this.asked += 1;
    return Promise.reject(new StoreUnavailableError('away', { outcome: 'not-applied' }));
  }
}

let store: BreakableStore;
beforeEach(() => {
  store = new BreakableStore();
});
afterEach(closeApps);

/** Two instances with a job of one tick, half a minute ago; `runs` has what its runs saw. */
async function start(options: {
  onStoreError: 'skip' | 'run';
  catchUp?: Duration;
  rerun?: number;
  overdue?: Duration;
}) {
  const { expression, tick } = daily();
  const runs: { attempt: number; locked: boolean }[] = [];
  @Injectable()
  class Nightly {
    @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
    @SchedulerLock({ name: 'nightly', job: 'nightly', ttl: '1s', ...options })
    async run(): Promise<void> {
      const { attempt, fencingToken } = currentLock();
      runs.push({ attempt, locked: fencingToken !== undefined });
    }
  }
  const apps = (): Promise<[TestApp, TestApp]> =>
    Promise.all([startApp([Nightly], { store }), startApp([Nightly], { store })]);
  return { tick, runs, apps };
}

/** What jobs have thrown: the scheduler logs it. */
const rejections = ({ logs }: TestApp): string[] =>
  logs.lines
    .filter(({ level, context }) => level === 'error' && context !== 'SchedulerLock')
    .map(({ message }) => message);
const unavailable = (app: TestApp): number =>
  skipped(app).filter(({ reason }) => reason === 'store-unavailable').length;
const knowsThatItRan = (app: TestApp): boolean =>
  skipped(app).some(({ reason }) => reason === 'already-ran' || reason === 'held');

test.each(['skip', 'run'] as const)(
  'with onStoreError %s an instance that starts while the store is away catches up when it is back, once, and not before',
  async (onStoreError) => {
    const { tick, runs, apps } = await start({ onStoreError, catchUp: '1h' });
    await runIn(store, request('nightly', tick - DAY));
    store.away = true;
    const both = await apps();
    await until(() => both.every((app) => unavailable(app) >= 1));
    expect(runs).toEqual([]);
    store.away = false;
    await until(() => runs.length > 0 && both.some(knowsThatItRan));
    expect(runs).toEqual([{ attempt: 1, locked: true }]);
    // Nobody waits for these calls: they are skipped, and reject nowhere.
    expect(both.flatMap(rejections)).toEqual([]);
  },
);

test('a tick that fell into an outage is caught up when the store is back', async () => {
  const { tick, runs, apps } = await start({ onStoreError: 'skip', catchUp: '1h' });
  const both = await apps();
  await until(() => both.every((app) => skipped(app).length === 1));
  await runIn(store, request('nightly', tick - DAY));
  store.away = true;
  for (const app of both) await app.fire('nightly');
  await until(() => both.every((app) => unavailable(app) === 1));
  store.away = false;
  await until(() => runs.length > 0 && both.some((app) => skipped(app).length > 1));
  expect(runs).toEqual([{ attempt: 1, locked: true }]);
});

test('with onStoreError run a tick that fell into an outage runs on every instance, and is not caught up by them', async () => {
  const { runs, apps } = await start({ onStoreError: 'run', catchUp: '1h' });
  const both = await apps();
  await until(() => both.every((app) => skipped(app).length === 1));
  store.away = true;
  for (const app of both) await app.fire('nightly');
  await until(() => runs.length === 2);
  const asked = store.asked;
  store.away = false;
  // As it has run here, nothing is left to be asked for.
  expect(asked).toBe(2);
  expect(runs).toEqual([
    { attempt: 1, locked: false },
    { attempt: 1, locked: false },
  ]);
});

test('with onStoreError run a tick that ran without the store is not missed: its instances tell when the store is back', async () => {
  const { tick, runs, apps } = await start({ onStoreError: 'run', overdue: '45s' });
  await runIn(store, request('nightly', tick - DAY));
  const both = await apps();
  store.away = true;
  for (const app of both) await app.fire('nightly');
  await until(() => runs.length === 2);
  store.away = false;
  for (const app of both) await app.get(SchedulerLockService).run('anything', () => undefined);
  // They tell when the grace is over.
  const told = async (): Promise<boolean> =>
    (await store.history.entries({ name: 'nightly', limit: 10 })).length === 2;
  await until(told, { timeout: 60_000 });
  const insight = both[0].get(SchedulerLockInsight);
  expect(await insight.job('nightly')).toMatchObject({ status: 'ok', attention: false });
  expect(await insight.why('nightly')).toMatchObject({ cause: 'unlocked', tick });
  expect(both.flatMap(({ events }) => events.filter(({ type }) => type === 'overdue'))).toEqual([]);
});

test.each(['skip', 'run'] as const)(
  "with onStoreError %s a watcher that finds the store away does not take the holder's place without it",
  async (onStoreError) => {
    const { tick, runs, apps } = await start({ onStoreError, rerun: 1 });
    await dieIn(store, request('nightly', tick, { ttl: 1 }));
    // As if the lease lived until the test has seen both of them watch it, however long that takes.
    store.refusal = {
      acquired: false,
      reason: 'held',
      holder: 'gone',
      tick,
      finished: false,
      expiresIn: 300,
    };
    const both = await apps();
    await until(() => both.every((app) => skipped(app).some(({ reason }) => reason === 'held')));
    store.away = true;
    await until(() => both.every((app) => unavailable(app) >= 1));
    expect(runs).toEqual([]);
    store.refusal = undefined;
    store.away = false;
    await until(
      () => runs.length > 0 && both.some((app) => skipped(app).at(-1)?.reason !== 'store-unavailable'),
    );
    expect(runs).toEqual([{ attempt: 2, locked: true }]);
  },
);
