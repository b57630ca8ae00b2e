import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Interval, SchedulerRegistry } from '@nestjs/schedule';
import {
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockHealth,
  SchedulerLockInsight,
  SchedulerLockService,
  StoreUnavailableError,
} from '../../lib/index.js';
import type { Beat, HistoryStore } from '../../lib/contract/history-store.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

/* What a history does to the start of an application, and jobs that come and go. */

afterEach(closeApps);

@Injectable()
class Jobs {
  @Interval('often', 3_600_000)
  @SchedulerLock({ name: 'often' })
  async often(): Promise<void> {}
}

function storeWith(init: () => Promise<string | undefined>) {
  const clock = new ManualClock(Date.now());
  const store = new MemoryLockStore({ clock });
  Object.assign(store.history, { init });
  return { clock, store };
}

const runsOf = (app: TestApp): Promise<object[]> => app.get(SchedulerLockInsight).runs({ lock: 'often' });

test('a history that does not answer delays the start by two seconds, and is used all the same', async () => {
  let asked = false;
  const { clock, store } = storeWith(() => {
    asked = true;
    return new Promise(() => undefined);
  });
  const starting = startApp([Jobs], { store, clock });
  await until(() => asked);
  await clock.advance(2_000);
  const app = await starting;
  await app.get(Jobs).often();
  expect(await runsOf(app)).toHaveLength(1);
});

test('a history that is away at the start is used later', async () => {
  const { clock, store } = storeWith(() =>
    Promise.reject(new StoreUnavailableError('The connection was lost.', { outcome: 'unknown' })),
  );
  const app = await startApp([Jobs], { store, clock });
  await app.get(Jobs).often();
  expect(await runsOf(app)).toHaveLength(1);
});

test('a history that cannot be kept is not asked any more', async () => {
  const { clock, store } = storeWith(() => Promise.resolve('a right is missing.'));
  const app = await startApp([Jobs], { store, clock });
  await app.get(Jobs).often();
  expect(await store.history.entries({ name: 'often', limit: 9 })).toEqual([]);
  expect(await store.history.instances()).toEqual([]);
});

const refuse = (): Promise<never> =>
  Promise.reject(
    new StoreUnavailableError('a column is missing.', { outcome: 'not-applied', refused: true }),
  );

test('a store that refuses signs of life while the application runs is told of in the log, once', async () => {
  const { clock, store } = storeWith(() => Promise.resolve(undefined));
  const beat = store.history.beat.bind(store.history);
  let beats = 0;
  const count = (answer: HistoryStore['beat']) => (told: Beat) => {
    beats++;
    return answer(told);
  };
  Object.assign(store.history, { beat: count(refuse) });
  const app = await startApp([Jobs], { store, clock });
  const warnings = (): string[] => app.logs.own.filter((line) => line.includes('a column is missing'));
  while (beats < 4) await clock.advance(30_000);
  expect(warnings()).toEqual([
    expect.stringMatching(/^warn: Runs are not remembered at the moment: a column/),
  ]);
  // It is mended, and breaks again.
  Object.assign(store.history, { beat: count(beat) });
  while (beats < 6) await clock.advance(30_000);
  Object.assign(store.history, { beat: count(refuse) });
  while (beats < 8) await clock.advance(30_000);
  expect(warnings()).toHaveLength(2);
});

test('a store that refuses signs of life shows no runs, either: jobs are unknown until it takes them again', async () => {
  const { clock, store } = storeWith(() => Promise.resolve(undefined));
  const app = await startApp([Jobs], { store, clock });
  const status = (): unknown => app.get(SchedulerLockHealth).state().jobs.get('Jobs.often')?.status;
  await clock.advance(60_000);
  expect(status()).toBe('new');
  const { history } = store;
  const [beat, entries] = [history.beat.bind(history), history.entries.bind(history)];
  Object.assign(history, { beat: refuse, entries: refuse });
  await clock.advance(60_000);
  expect(status()).toBe('unknown');
  Object.assign(history, { beat, entries });
  await clock.advance(60_000);
  expect(status()).toBe('new');
});

test('a job that is deleted is not watched any more, and one that takes its name is', async () => {
  const { clock, store } = storeWith(() => Promise.resolve(undefined));
  const app = await startApp([Jobs], { store, clock });
  const [locks, health] = [app.get(SchedulerLockService), app.get(SchedulerLockHealth)];
  locks.cron('report', '0 3 * * *', { timeZone: 'UTC' }, async () => undefined);
  expect(health.state().jobs.has('report')).toBe(true);
  app.get(SchedulerRegistry).deleteCronJob('report');
  expect(health.state().jobs.has('report')).toBe(false);
  locks.cron('report', '0 4 * * *', { timeZone: 'UTC' }, async () => undefined);
  expect(health.state().jobs.has('report')).toBe(true);
});
