import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { MemoryLockStore, SchedulerLockService } from '../../lib/index.js';
import type { InterruptedEvent } from '../../lib/contract/events/call-events.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

afterEach(closeApps);

const told = (app: TestApp): InterruptedEvent[] => app.events.filter((event) => event.type === 'interrupted');

/** A lease of an instance that is killed at once. */
async function kill(store: MemoryLockStore, more: object = {}): Promise<void> {
  const lease = { name: 'job', token: randomUUID(), holder: 'killed', job: 'Jobs.nightly', history: true };
  expect(await store.acquire({ ...lease, ...more, ttl: 1 })).toMatchObject({ acquired: true });
}

test('the next holder tells of a run that was killed, once, with its tick and who had it', async () => {
  const store = new MemoryLockStore();
  const app = await startApp([], { store, instanceId: 'next' });
  const tick = Date.now() - 60_000;
  await kill(store, { tick });
  const run = (): Promise<{ ran: boolean }> =>
    app.get(SchedulerLockService).run('job', { job: 'Jobs.nightly', history: true }, () => undefined);
  await until(async () => (await run()).ran);
  await run();
  expect(told(app)).toEqual([
    {
      type: 'interrupted',
      lock: 'job',
      job: 'Jobs.nightly',
      instance: 'next',
      at: expect.any(Number),
      run: { instance: 'killed', fencingToken: expect.any(Number), tick, attempt: 1 },
    },
  ]);
  expect(app.logs.own.filter((line) => line.startsWith('warn'))).toEqual([
    `warn: Jobs.nightly [job]: the run of ${new Date(tick).toISOString()} on killed was interrupted: that instance died, froze or lost the store`,
  ]);
});

test('a run that ended, also by an error, is not told of as interrupted', async () => {
  const app = await startApp([], { store: new MemoryLockStore() });
  const locks = app.get(SchedulerLockService);
  await locks
    .run('job', { job: 'Jobs.nightly', history: true }, () => Promise.reject(new Error('it fails')))
    .catch(() => undefined);
  await locks.run('job', { job: 'Jobs.nightly', history: true }, () => undefined);
  expect(told(app)).toEqual([]);
});
