import { afterEach, expect, it } from '@jest/globals';
import { MemoryLockStore, SchedulerLockInsight } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { closeApps, startApp } from './app.js';

afterEach(closeApps);

it('one answer about all jobs serves all who ask within two seconds, but not an error', async () => {
  const [clock, store] = [new ManualClock(), new MemoryLockStore()];
  const { history } = store;
  // Without a job, nobody else asks.
  let asked = 0;
  let away = false;
  const instances = history.instances.bind(history);
  history.instances = () => {
    asked++;
    return away ? Promise.reject(new Error('away')) : instances();
  };
  const app = await startApp([], { store, clock });
  const insight = app.get(SchedulerLockInsight);
  asked = 0;
  const [one, other] = await Promise.all([insight.jobs(), insight.jobs()]);
  expect(other).toEqual(one);
  expect(other).not.toBe(one);
  await clock.advance(1_999);
  await insight.jobs();
  expect(asked).toBe(1);
  await clock.advance(1);
  away = true;
  await expect(insight.jobs()).rejects.toThrow('away');
  away = false;
  await insight.jobs();
  expect(asked).toBe(3);
});
