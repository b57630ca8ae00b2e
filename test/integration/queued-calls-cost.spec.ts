import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { LOOKED_AT_ONCE } from '../../lib/stores/redis/entry-looks.js';
import { queuedCall } from '../contract/cases/queued-call-moves.js';
import { commandsDuring, type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';
import { calendar, hold } from './support/calendar.js';

/* What queued calls cost on Redis, counted by the server. */

let server: LocalRedis;
let client: Redis;
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
});
afterEach(closeApps);
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** Those that use the queue of a lock, and the others. */
function counted(sent: readonly string[][]) {
  const ofQueuedCalls = sent.filter((args) => args.some((arg) => arg.endsWith(':entries')));
  return { ofQueuedCalls: ofQueuedCalls.length, others: sent.length - ofQueuedCalls.length };
}

test('a queued call is found after a data loss, though its process has noted the lock just before, and dies', async () => {
  const stores = [new RedisLockStore(server.url), new RedisLockStore(server.url)] as const;
  for (const store of stores) await store.init();
  await stores[0].queuedCalls.enqueue(queuedCall('lost'));
  await client.flushall();
  await stores[0].queuedCalls.enqueue(queuedCall('lost'));
  expect(await stores[1].queuedCalls.left(['job'])).toMatchObject([{ name: 'lost' }]);
  for (const store of stores) await store.close();
});

test('a call behind more than one command goes through is found', async () => {
  const store = new RedisLockStore(server.url);
  await store.init();
  const keep = (job: string) => store.queuedCalls.enqueue(queuedCall('long', { job, max: 10_000 }));
  const others = await Promise.all(Array.from({ length: LOOKED_AT_ONCE }, () => keep('gone')));
  expect(others.every(({ queued }) => queued)).toBe(true);
  const own = await keep('job');
  const found = (await store.queuedCalls.left(['job'])).filter(({ name }) => name === 'long');
  expect(found).toEqual(own.queued ? [{ name: 'long', place: own.place }] : undefined);
  await store.close();
});

/** How many commands the server carries out, also those of scripts. */
async function carriedOut(work: () => Promise<unknown>): Promise<number> {
  await client.config('RESETSTAT');
  await work();
  const stats = await client.info('commandstats');
  const calls = [...stats.matchAll(/^cmdstat_(?!config)\S+:calls=(\d+)/gm)].map(([, count]) => Number(count));
  return calls.reduce((sum, count) => sum + count, 0);
}

describe('an idle look for queued calls', () => {
  const jobs = Array.from({ length: 1_000 }, (_, i) => `job-${i}`);
  const locks = Array.from({ length: 120 }, (_, i) => `idle-${i}`);

  let store: RedisLockStore;
  beforeEach(async () => {
    await client.flushall();
    store = new RedisLockStore(server.url);
    await store.init();
    const queue = (name: string) =>
      store.queuedCalls.enqueue(queuedCall(name, { job: 'other', redeliver: 0 }));
    await Promise.all(locks.map(queue));
  });
  afterEach(() => store.close());

  const look = () => store.queuedCalls.left(jobs);

  async function fail(name: string): Promise<void> {
    const request = { name, token: randomUUID(), ttl: 60_000, holder: 'host' };
    const result = await store.acquire(request);
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    const lease = { ...request, fencingToken: result.fencingToken };
    const taken = await store.queuedCalls.next(lease, { takes: [{ job: 'other', ttl: 60_000 }] });
    if (!taken.held || taken.queuedCall === undefined) throw new Error('there is no queued call');
    const run = { ...lease, fencingToken: taken.fencingToken, queuedCall: taken.queuedCall.id };
    await store.release(run, { outcome: 'failed' });
  }

  test('costs a few commands for each lock that has calls, however many jobs there are', async () => {
    await look();
    expect(await carriedOut(look)).toBeLessThan(10 * locks.length);
  });

  test('costs nothing for locks that have dead letters only', async () => {
    await Promise.all(locks.map(fail));
    const [info] = await store.inspect(locks.slice(0, 1));
    expect(info?.dead).toHaveLength(1);
    // They were noted more than ten minutes ago: no call is on its way.
    for (const lock of locks) await client.zadd('scheduler:queued', 1, lock);
    for (let i = 0; i < 3; i++) await look();
    expect(await carriedOut(look)).toBeLessThan(10);
    // This process believes that it has just noted them.
    const another = new RedisLockStore(server.url);
    await another.init();
    expect(await another.queuedCalls.redeliver('idle-0')).toBe(1);
    expect(await store.queuedCalls.left(['other'])).toMatchObject([{ name: 'idle-0' }]);
    await another.close();
  });
});

test('calls that come at one moment do not note their lock one by one', async () => {
  const store = new RedisLockStore(server.url);
  await store.init();
  const keep = (name: string) => store.queuedCalls.enqueue(queuedCall(name, { max: 10_000 }));
  const burst = (name: string) => Promise.all(Array.from({ length: 100 }, () => keep(name)));
  // The scripts are sent as a whole.
  await keep('before');
  await burst('before');
  const sent = await commandsDuring(client, () => burst('burst'));
  const notes = sent.filter((args) => args.includes('scheduler:queued'));
  // Twice if the first call that is queued came when the lock was just noted: it might have been noted before a data loss.
  expect([1, 2]).toContain(notes.length);
  await store.close();
});

test('a call of a greater priority costs the same, however many of a lower one stand behind it', async () => {
  const store = new RedisLockStore(server.url);
  await store.init();
  const keep = (priority: number) =>
    store.queuedCalls.enqueue(queuedCall('urgent', { priority, max: 10_000 }));
  const first = await keep(1);
  await Promise.all(Array.from({ length: LOOKED_AT_ONCE + 1 }, () => keep(0)));
  let second: Awaited<ReturnType<typeof keep>> | undefined;
  const sent = await commandsDuring(client, async () => void (second = await keep(1)));
  expect(counted(sent)).toMatchObject({ ofQueuedCalls: 4 });
  expect(first.queued && second?.queued && second.place > first.place).toBe(true);
  await store.close();
});

test('a queued call takes three commands to queue, and five to run', async () => {
  const { Calendar, ran } = calendar({ queue: undefined });
  const app = await startApp([Calendar], { connection: server.url, ttl: '10m' });
  const round = async (count: number) => {
    const letGo = await hold(app);
    const since = performance.now();
    const queued = await commandsDuring(client, async () => {
      for (let i = 0; i < count; i++) await app.get(Calendar).changed(String(i));
    });
    // The connection for hints is open: ioredis takes a command that comes in the moment of MONITOR for its answer.
    await until(async () => String(await client.client('LIST')).includes('cmd=subscribe'));
    ran.length = 0;
    const run = await commandsDuring(client, async () => {
      await letGo();
      await until(() => ran.length === count);
      await until(async () => !(await isTaken()));
    });
    const seconds = (performance.now() - since) / 1_000;
    return {
      seconds,
      queued: counted(queued),
      run: counted(run.filter(([command]) => command !== 'exists')),
    };
  };
  const isTaken = async (): Promise<boolean> => (await client.exists('scheduler:calendar:lock')) === 1;
  // The scripts are sent as a whole, and the lock is noted.
  await round(1);
  for (const count of [10, 100]) {
    const { seconds, queued, run } = await round(count);
    // Each process looks every 5 s for calls that nobody runs.
    const looks = 3 * (1 + Math.floor(seconds / 5));
    const expectAbout = (found: number, wanted: number): void => {
      expect(found).toBeGreaterThanOrEqual(wanted);
      expect(found).toBeLessThanOrEqual(wanted + looks);
    };
    // Where none waits there is nothing to count.
    expectAbout(queued.ofQueuedCalls, 3 * count - 1);
    // The first run is the end of none, the last one finds that there are no more. The release after it sends the end of its run once more.
    expectAbout(run.ofQueuedCalls, 3 * count + 2);
    // The holder lets go, somebody stands in line, asks when it is called, and lets go: as for any call that waits.
    // Meanwhile the process sends a few commands a second anyway.
    expect(run.others - 2 * count).toBeLessThan(10 + 5 * seconds);
  }
});
