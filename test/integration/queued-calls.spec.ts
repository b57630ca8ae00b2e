import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { MemoryLockStore, SchedulerLockService } from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';
import { calendar, hold, ids } from './support/calendar.js';

/* Queued calls on Redis, in short. On every store, and all that can befall them: queued-calls-stores, -holders and -race. */

let server: RedisServer;
beforeAll(async () => {
  server = await provideRedis();
});
afterEach(() => closeApps());
afterAll(() => server.stop());

test('calls that find their lock taken are queued, and run on either instance when it is free, in order, each key once', async () => {
  const keyPrefix = uniquePrefix('queued');
  const queue = { key: (id: string) => id.slice(0, 1) };
  const [ours, theirs] = [calendar({ queue }), calendar({ queue })];
  const start = (provider: typeof ours.Calendar) =>
    startApp([provider], { store: new RedisLockStore(server.url, { keyPrefix }) });
  const [one, two] = [await start(ours.Calendar), await start(theirs.Calendar)];
  const letGo = await hold(one);
  for (const id of ['a1', 'b1', 'c1']) expect(await two.get(theirs.Calendar).changed(id)).toBeUndefined();
  expect(await one.get(ours.Calendar).changed('a2')).toBeUndefined();
  await letGo();
  const ran = () =>
    [...ours.ran, ...theirs.ran].sort((a, b) => (a.fencingToken ?? 0) - (b.fencingToken ?? 0));
  await until(() => ran().length === 3, { message: () => `3 runs; there were ${ids(ran()).join(', ')}` });
  expect(ids(ran())).toEqual(['a2', 'b1', 'c1']);
  expect(ran().map(({ queuedCall }) => queuedCall?.merged)).toEqual([1, 0, 0]);
});

test('the run of a queued call keeps its lock for atLeast, and the next one begins no earlier', async () => {
  const store = new MemoryLockStore();
  const { Calendar, work } = calendar({ atLeast: '400ms' });
  const begun: number[] = [];
  work.of = async () => void begun.push(performance.now());
  const app = await startApp([Calendar], { store });
  const letGo = await hold(app);
  for (const id of ['a', 'b', 'c']) await app.get(Calendar).changed(id);
  await letGo();
  await until(() => begun.length === 3);
  const between = begun.slice(1).map((at, i) => at - (begun[i] ?? 0));
  // A lease begins a moment before its job does, on a busy machine a long moment.
  for (const gap of between) expect(gap).toBeGreaterThan(100);
});

test('the last queued call keeps its lock for atLeast, too', async () => {
  const store = new MemoryLockStore();
  const { Calendar, ran } = calendar({ ttl: '1h', atLeast: '1h' });
  const app = await startApp([Calendar], { store });
  const letGo = await hold(app);
  await app.get(Calendar).changed('a');
  await letGo();
  await until(() => ran.length === 1);
  await until(async () => (await store.inspect(['calendar']))[0]?.state !== 'held');
  expect(await store.inspect(['calendar'])).toMatchObject([{ state: 'cooling-down' }]);
  const result = await app.get(SchedulerLockService).run('calendar', () => undefined);
  expect(result).toMatchObject({ ran: false, reason: 'cooling-down' });
});
