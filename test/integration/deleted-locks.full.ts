import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { SchedulerLockService } from '../../lib/index.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

let server: LocalRedis;
let app: TestApp;

beforeAll(async () => {
  server = await startRedis();
});
beforeEach(async () => {
  await server.command('FLUSHALL');
  app = await startApp([], { connection: server.url, ttl: '30s', heartbeat: 50 });
});
afterEach(closeApps);
afterAll(() => server.stop());

const KEY = 'scheduler:job:lock';
const told = () => app.events.filter((event) => 'deleted' in event);
const restored = (): number =>
  app.events.filter((event) => event.type === 'renewed' && event.restored).length;
const warnings = (): string[] => app.logs.own.filter((line) => line.startsWith('warn'));
const run = (work: () => Promise<void>, heartbeat: number | false = 50): Promise<unknown> =>
  app.get(SchedulerLockService).run('job', { job: 'Jobs.run', heartbeat }, work);

/** As ShedLock does that takes over such a lock, and unlocks it as it does by default. */
async function intrude(): Promise<void> {
  await server.command('DEL', KEY);
  await server.command('SET', KEY, 'ADDED:somebody', 'NX', 'PX', 1_000);
  await server.command('DEL', KEY);
}

test('a lock that somebody deletes between two beats is told of, each time, with who may do such a thing', async () => {
  await run(async () => {
    for (const n of [1, 2]) {
      await server.command('DEL', KEY);
      await until(() => restored() === n);
    }
  });
  expect(told()).toEqual([
    expect.objectContaining({
      lock: 'job',
      job: 'Jobs.run',
      type: 'renewed',
      fencingToken: expect.any(Number),
    }),
    expect.objectContaining({ type: 'renewed' }),
  ]);
  const warning: unknown = expect.stringMatching(
    /^warn: Jobs.run \[job\]: its lock was gone before its time: somebody has deleted it.* DEL .*safeUpdate\(true\)/,
  );
  expect(warnings()).toEqual([warning, warning]);
});

test('so is one that was deleted, taken and given back during a run that is never renewed', async () => {
  await run(intrude, false);
  expect(told()).toMatchObject([{ lock: 'job', type: 'released' }]);
  expect(warnings()).toEqual([expect.stringMatching(/somebody has deleted it, or the store has lost data/)]);
});

test('a Redis that has lost its data has not had the lock deleted', async () => {
  await run(async () => {
    await server.command('FLUSHALL');
    await until(() => restored() === 1);
  });
  expect(told()).toEqual([]);
  expect(warnings()).toEqual([
    expect.stringMatching(/the store had forgotten the lease; it was written back/),
  ]);
});

test('nor has one whose lock another holder has: that lease is lost', async () => {
  await run(async () => {
    await server.command('SET', KEY, 'somebody', 'PX', 60_000);
    await until(() => app.events.some(({ type }) => type === 'lost'));
  });
  expect(told()).toEqual([]);
});

test('a run whose lease had expired by itself tells of nothing but that', async () => {
  const locks = app.get(SchedulerLockService);
  await locks.run('job', { ttl: 100, heartbeat: false }, async ({ signal }) => {
    await until(() => signal.aborted);
    await until(async () => (await server.command('EXISTS', KEY)) === 0);
  });
  expect(app.events.map(({ type }) => type)).toEqual(['acquired', 'lost', 'released']);
});
