import 'reflect-metadata';
import { afterEach, expect, test } from '@jest/globals';
import { SchedulerLockInsight, SchedulerLockService } from '../../lib/index.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

const HOUR = 3_600_000;

afterEach(closeApps);

test('an interval that is made at run time is not overdue for the time before', async () => {
  const clock = new ManualClock(Date.UTC(2026, 10, 22));
  const app = await startApp([], { store: new MemoryLockStore({ clock }), clock, insight: { beat: '1m' } });
  await clock.advance(2 * HOUR);
  app.get(SchedulerLockService).interval('poll', '10m', () => undefined);
  const insight = app.get(SchedulerLockInsight);
  await until(async () => {
    await clock.advance(1_000);
    return (await insight.job('poll')) !== undefined;
  });
  const made = clock.now();
  expect(await insight.job('poll')).toMatchObject({ status: 'new', attention: false });
  expect((await insight.job('poll'))?.next).toBeGreaterThan(made);
  expect(app.events.filter(({ type }) => type === 'overdue')).toEqual([]);
});
