import { describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { ownStore } from './support/own-redis.js';

let client: Redis;
let store: RedisLockStore;

ownStore((...own) => ([client, store] = own));

const QUEUED = { id: 'id', job: 'job', args: '[]', priority: 0, max: 10, redeliver: 0 };

/** The names of the locks that are shown. */
const names = async (): Promise<string[]> => (await store.inspect()).map(({ name }) => name);

describe('inspect()', () => {
  test('shows a lock that a client of the SET NX PX recipe holds', async () => {
    await client.set('scheduler:report:lock', 'its token', 'PX', 60_000, 'NX');
    expect(await store.inspect()).toEqual([
      { name: 'report', time: expect.any(Number), state: 'held', expiresIn: expect.any(Number), jobs: [] },
    ]);
  });

  test('shows no key of the library itself as a lock, and no lock can have one', async () => {
    const own = new RedisLockStore(client, { key: (name) => `scheduler:${name}` });
    await own.init();
    const lease = { name: 'report', token: 'ours', ttl: 60_000, holder: 'here' };
    expect(await own.acquire(lease)).toMatchObject({ acquired: true });
    await own.queuedCalls.enqueue({ ...QUEUED, name: 'report' });
    const beat = { instance: 'a', startedAt: 0, every: 1, leads: [], catalogue: 'a', jobs: [], left: false };
    await own.history.beat(beat);
    expect(await client.exists('scheduler:queued', '{scheduler:instances}:state:history')).toBe(2);
    expect((await own.inspect()).map(({ name }) => name)).toEqual(['report']);
    for (const name of ['queued', 'instances'])
      await expect(own.acquire({ ...lease, name })).rejects.toThrow('there the library itself keeps');
    await own.close();
  });

  test('names the host of the JVM that holds a lock by ShedLock, also after a lease of ours', async () => {
    const shared = new RedisLockStore(client, { key: (name) => `job-lock:default:${name}` });
    await shared.init();
    const lease = { name: 'both', token: 'ours', ttl: 60_000, holder: 'here' };
    const { fencingToken } = (await shared.acquire(lease)) as { fencingToken: number };
    await shared.release({ ...lease, fencingToken });
    const uuid = '0b7de2d4-7c38-4f4b-9d5c-0d3ab7d6b7a1';
    for (const name of ['both', 'theirs'])
      await client.set(
        `job-lock:default:${name}`,
        `ADDED:2026-11-25T03:00:00.123Z@spring-7f9c:eu:${uuid}`,
        'PX',
        60_000,
        'NX',
      );
    await client.set('job-lock:default:other', `ADDED:2026-11-25@:${uuid}`);
    const infos = await shared.inspect();
    await shared.close();
    expect(infos.map(({ name, state, holder }) => [name, state, holder])).toEqual([
      ['both', 'held', 'spring-7f9c:eu'],
      ['other', 'held', undefined],
      ['theirs', 'held', 'spring-7f9c:eu'],
    ]);
    // What the clock of the JVM says is no time of the store.
    expect(infos.every(({ since }) => since === undefined)).toBe(true);
  });

  test('shows a lock whose value is the text error, beside those that it is asked for with', async () => {
    for (const name of ['first', 'odd', 'report'])
      await client.set(`scheduler:${name}:lock`, name === 'odd' ? 'error' : 'its token', 'PX', 60_000, 'NX');
    const held = ['first', 'odd', 'report'].map((name) => expect.objectContaining({ name, state: 'held' }));
    expect(await store.inspect(['first', 'odd', 'report'])).toEqual(held);
  });

  test('shows a lock that never expires without a time', async () => {
    await client.set('scheduler:report:lock', 'its token');
    expect(await store.inspect()).toStrictEqual([
      { name: 'report', time: expect.any(Number), state: 'held', jobs: [] },
    ]);
  });

  test('shows a lock as held that a value of another type stands in the way of', async () => {
    await client.hset('scheduler:report:lock', 'a', '1');
    expect(await store.inspect()).toStrictEqual([
      { name: 'report', time: expect.any(Number), state: 'held', jobs: [] },
    ]);
  });

  test('leaves keys out that only look like a lock', async () => {
    await client.mset({
      'scheduler::lock': 'no name',
      'scheduler:report:lock2': '',
      'xscheduler:report:lock': '',
    });
    expect(await names()).toEqual([]);
  });

  test('takes characters of a pattern in a key as they are', async () => {
    const odd = new RedisLockStore(client, { key: (name) => `a*[b]?${name}\\` });
    await odd.init();
    await client.mset({ 'a*[b]?report\\': '', 'axxbxreport\\': '', 'a*bxreport\\': '' });
    expect((await odd.inspect()).map(({ name }) => name)).toEqual(['report']);
    await odd.close();
  });

  test('leaves a lock out that is gone when it is looked at', async () => {
    const scan = jest.spyOn(client, 'scan').mockImplementation(async () => ['0', ['scheduler:gone:lock']]);
    const shown = await names();
    scan.mockRestore();
    expect(shown).toEqual([]);
  });

  test('shows all locks, however many there are, each once', async () => {
    const all = Array.from({ length: 1_500 }, (_, i) => `job-${i}`).sort();
    const request = { ttl: 60_000, holder: 'here' };
    await Promise.all(all.map((name) => store.acquire({ ...request, name, token: `token of ${name}` })));
    expect(await names()).toEqual(all);
  });

  test('needs a key with the name in it once, as it is', async () => {
    for (const key of [(name: string) => encodeURIComponent(name), (name: string) => `${name}:${name}`]) {
      const other = new RedisLockStore(client, { key });
      await other.init();
      await expect(other.inspect()).rejects.toThrow(
        'the function `key` does not put the name into the Redis key',
      );
      await other.close();
    }
  });
});
