import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import type { NewQueuedCall } from '../../../../lib/contract/queued-call-store.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { until } from '../../../support/until.js';
import { ownStore } from './support/own-redis.js';

const NAME = 'calendar';
const ENTRIES = `{scheduler:${NAME}:lock}:state:entries`;
const ORDER = `{scheduler:${NAME}:lock}:state:order`;
const TAKES = { takes: [{ job: 'sync', ttl: 60_000 }] };

let client: Redis;
let store: RedisLockStore;

ownStore((...own) => ([client, store] = own));

const queue = (call: Partial<NewQueuedCall> = {}) =>
  store.queuedCalls.enqueue({
    name: NAME,
    id: randomUUID(),
    job: 'sync',
    args: '[]',
    priority: 0,
    max: 10,
    redeliver: 0,
    ...call,
  });

async function take(): Promise<LeaseRef> {
  const request = { name: NAME, token: randomUUID(), ttl: 60_000, holder: 'host:1:abc' };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

/** Takes the next queued call. */
async function next(lease: LeaseRef): Promise<LeaseRef> {
  const ended = lease.queuedCall === undefined ? {} : { outcome: 'completed' as const };
  const result = await store.queuedCalls.next(lease, { ...TAKES, ...ended });
  if (!result.held || result.queuedCall === undefined) throw new Error('there is no queued call');
  return { ...lease, fencingToken: result.fencingToken, queuedCall: result.queuedCall.id };
}

async function withoutMemory(work: () => Promise<void>): Promise<void> {
  await client.config('SET', 'maxmemory', '1');
  try {
    await work();
  } finally {
    await client.config('SET', 'maxmemory', '0');
  }
}

describe('the keys of queued calls', () => {
  test('are both gone some day, also if the only call was merged, taken, or put back', async () => {
    const expire = async (): Promise<boolean[]> =>
      (await Promise.all([client.pttl(ENTRIES), client.pttl(ORDER)])).map((left) => left > 0);
    await queue({ key: 'one', redeliver: 1 });
    await queue({ key: 'one', redeliver: 1 });
    expect(await expire()).toEqual([true, true]);
    const lease = await next(await take());
    expect(await expire()).toEqual([true, true]);
    await store.release(lease, { outcome: 'aborted' });
    expect(await expire()).toEqual([true, true]);
  });

  test('begin anew if the server has lost one of them', async () => {
    await queue();
    await client.del(ENTRIES);
    const { place } = (await queue()) as { place: number };
    expect(await client.zcard(ORDER)).toBe(1);
    expect(await store.queuedCalls.left(['sync'])).toEqual([{ name: NAME, place }]);
  });
});

describe('queued calls while the server is out of memory', () => {
  test('go on running, one after another', async () => {
    await queue({ args: '[1]' });
    await queue({ args: '[2]' });
    let lease = await next(await take());
    // As if both had been there for days.
    await client.hset(ENTRIES, 'earliest', '1');
    await withoutMemory(async () => {
      lease = await next(lease);
      await store.release(lease);
      await expect(queue()).rejects.toThrow(/OOM/);
    });
    expect(await client.exists(ENTRIES, ORDER)).toBe(0);
  });

  test('are taken and put back by a process that has queued none', async () => {
    await queue({ redeliver: 1 });
    await client.del('scheduler:queued');
    store = new RedisLockStore(client);
    const lease = await take();
    await withoutMemory(async () => {
      expect(await store.release(await next(lease), { outcome: 'aborted' })).toEqual({ released: true });
    });
    expect(await next(await take())).toMatchObject({ queuedCall: expect.any(String) });
  });
});

test.each<[string, (name: string) => string]>([
  ['a lock without a name', (name) => name],
  ['a name that is not of the application', (name) => (name === NAME ? 'its:key' : '')],
])('queued calls can be kept where `key` has no key for %s', async (_what, key) => {
  const own = new RedisLockStore(client, { key });
  await own.init();
  await own.queuedCalls.init?.();
  await own.close();
});

test('a dead letter has died at a whole millisecond', async () => {
  await queue();
  await store.release(await next(await take()), { outcome: 'failed' });
  const [info] = await store.inspect([NAME]);
  expect(info?.dead).toMatchObject([{ at: expect.any(Number) }]);
  expect(info?.dead?.every(({ at }) => Number.isSafeInteger(at))).toBe(true);
});

test('a dead letter whose time is over is shown to nobody, and deleted as soon as the next call of its lock is queued', async () => {
  await queue();
  await store.release(await next(await take()), { outcome: 'failed' });
  const [member = ''] = await client.zrange(ORDER, '0', '-1');
  const id = member.split(' ').at(-1) ?? '';
  const stored = (await client.hget(ENTRIES, id)) ?? '';
  // As if it had been there for days.
  await client.hset(ENTRIES, id, stored.replace(/^\S+/, '1'));
  await client.hset(ENTRIES, 'earliest', '1');
  const [info] = await store.inspect([NAME]);
  expect(info?.dead).toBeUndefined();
  await queue();
  expect(await client.hexists(ENTRIES, id)).toBe(0);
  expect(await client.zscore(ORDER, member)).toBeNull();
});

test('queued calls are found whatever another client has written into the locks', async () => {
  for (const name of ['one', 'two', 'three']) {
    await queue({ name });
    await client.set(`scheduler:${name}:lock`, 'error', 'PX', 60_000);
  }
  expect(await store.queuedCalls.left(['sync'])).toHaveLength(3);
});

test('a call that its caller has given up is not queued when the connection is back', async () => {
  const away = new Redis({ port: client.options.port!, retryStrategy: () => 600, disconnectTimeout: 100 });
  const own = new RedisLockStore(away);
  await own.init();
  await own.queuedCalls.init?.();
  const call = { name: NAME, id: randomUUID(), job: 'sync', args: '[]', priority: 0, max: 10, redeliver: 0 };
  away.disconnect(true);
  await expect(own.queuedCalls.enqueue(call, { limit: 200 })).rejects.toMatchObject({
    outcome: 'not-applied',
  });
  await until(() => away.status === 'ready');
  // Behind whatever has waited for the connection.
  expect(await away.exists(ENTRIES)).toBe(0);
  await own.close();
  away.disconnect();
});

test('the start tells of each right that is missing beside locks', async () => {
  const commands = ['hdel', 'zrange', 'zscore', 'zrem', 'zadd'];
  await client.call(
    'ACL',
    'SETUSER',
    'app',
    'on',
    '>password',
    '~*',
    '+@all',
    ...commands.map((each) => `-${each}`),
  );
  const own = new RedisLockStore(`redis://app:password@127.0.0.1:${client.options.port}`);
  const missing = commands.map((each) => each.toUpperCase()).join(', ');
  await expect(own.init()).rejects.toThrow(`may not run ${missing}, which`);
  await own.close();
});
