import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { LeaseRef } from '../../../lib/index.js';
import { RedisConnection } from '../../../lib/stores/redis/redis-connection.js';
import { RedisLockStore } from '../../../lib/stores/redis/redis-lock.store.js';
import { type LocalRedis, startRedis } from '../../support/redis-server.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NAME = 'refresh';
const LOCK = `scheduler:${NAME}:lock`;
const STATE = `{${LOCK}}:state`;
const RUN = { job: 'RefreshJobs.refresh', tick: 1_760_000_000_000, attempt: 1 };

let server: LocalRedis;
let client: Redis;
let store: RedisLockStore;
let tokens = 0;

// A server of our own: it is flushed, and its scripts are.
beforeAll(async () => {
  server = await startRedis();
  client = new Redis(server.url);
}, 60_000);

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await client.flushall();
  store = new RedisLockStore(new RedisConnection(client), { key: (name) => `scheduler:${name}:lock` });
  await store.init();
});

afterEach(() => store.close());

async function take(fields: Partial<LeaseRef> = {}): Promise<LeaseRef> {
  const request = { name: NAME, token: `token-${(tokens += 1)}`, ttl: HOUR, holder: 'host:1:abc', ...fields };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

/** How long the state outlives the lease, to the hour: only an hour of delay could change it. */
async function retention(ttl = HOUR): Promise<number> {
  const left = await client.pttl(STATE);
  return Math.ceil((left - ttl) / HOUR) * HOUR;
}

describe('what Redis keeps', () => {
  test('for a lease: the token in the lock, everything else in the state beside it', async () => {
    const before = Number((await client.time())[0]);
    const { token, fencingToken } = await take();
    expect(await client.get(LOCK)).toBe(token);
    const { since, ...state } = await client.hgetall(STATE);
    expect(state).toEqual({
      token,
      fence: String(fencingToken),
      holder: 'host:1:abc',
      ended: '',
      job: '',
      tick: '',
      attempt: '',
      ticks: '',
      record: '',
    });
    expect(Number(since)).toBeGreaterThanOrEqual(before * 1_000);
    expect(await client.keys('*')).toEqual(expect.arrayContaining([LOCK, STATE]));
    expect(await client.dbsize()).toBe(2);
  });

  test('for a run: its job, tick and attempt', async () => {
    await take(RUN);
    expect(await client.hgetall(STATE)).toMatchObject({
      job: RUN.job,
      tick: String(RUN.tick),
      attempt: '1',
      ticks: '1',
      record: `job:${RUN.job}`,
      [`job:${RUN.job}`]: `${RUN.tick} 1 - `,
    });
  });

  test('after a release: how and when the lease ended, and no lock', async () => {
    const lease = await take(RUN);
    await store.release(lease, { outcome: 'failed' });
    const state = await client.hgetall(STATE);
    expect(state).toMatchObject({ outcome: 'failed', tick: String(RUN.tick), token: lease.token });
    expect(Number(state['ended'])).toBeGreaterThanOrEqual(Number(state['since']));
    expect(await client.exists(LOCK)).toBe(0);
  });

  test('after an abandoned lease: no job, no tick, no attempt', async () => {
    await store.release(await take(RUN), { outcome: 'abandoned' });
    expect(await client.hgetall(STATE)).toMatchObject({
      outcome: 'abandoned',
      job: '',
      tick: '',
      attempt: '',
    });
  });

  test('after a restore: the same as before', async () => {
    const lease = await take(RUN);
    const { since: _, ...before } = await client.hgetall(STATE);
    await client.flushall();
    expect(await store.extend([lease])).toEqual([{ held: true, restored: true }]);
    const { since: __, ...after } = await client.hgetall(STATE);
    expect(after).toEqual(before);
    expect(await client.get(LOCK)).toBe(lease.token);
  });

  test('of fields that it does not know: all of them', async () => {
    const lease = await take();
    await client.hset(STATE, 'later', 'version');
    await store.extend([lease]);
    await store.release(lease);
    await take();
    expect(await client.hget(STATE, 'later')).toBe('version');
  });
});

describe('the state is kept', () => {
  test('for a day after a lease without a tick', async () => {
    const lease = await take();
    expect(await retention()).toBe(DAY);
    await client.pexpire(STATE, HOUR);
    await store.extend([lease]);
    expect(await retention()).toBe(DAY);
    await store.release(lease);
    expect(await retention()).toBe(DAY);
  });

  test('for 400 days after a lease with a tick, also when leases without one follow', async () => {
    const lease = await take(RUN);
    expect(await retention()).toBe(400 * DAY);
    await client.pexpire(STATE, HOUR);
    await store.extend([lease]);
    expect(await retention()).toBe(400 * DAY);
    await store.release(lease);
    const next = await take();
    expect(await retention()).toBe(400 * DAY);
    await client.pexpire(STATE, HOUR);
    await store.extend([next]);
    expect(await retention()).toBe(400 * DAY);
  });

  test('for a day where it had to be written anew by a release', async () => {
    const lease = await take();
    await client.del(LOCK, STATE);
    await store.release(lease);
    expect(await retention()).toBe(DAY);
  });
});

describe('fencing tokens', () => {
  test("are the server's time in microseconds", async () => {
    const [seconds] = await client.time();
    const { fencingToken } = await take();
    expect(fencingToken).toBeGreaterThanOrEqual(Number(seconds) * 1e6);
    const [later] = await client.time();
    expect(fencingToken).toBeLessThan((Number(later) + 1) * 1e6);
  });

  test("go on from the last one where that is ahead of the server's clock, digit by digit", async () => {
    // Not closer to the end: ioredis' parser of integers loses the last digit in the last hundred before 2^53.
    const last = Number.MAX_SAFE_INTEGER - 1_000;
    await client.hset(STATE, { token: 'old', fence: String(last), ended: '1' });
    const first = await take();
    expect(first.fencingToken).toBe(last + 1);
    await store.release(first);
    expect((await take()).fencingToken).toBe(last + 2);
    expect(await client.hget(STATE, 'fence')).toBe(String(last + 2));
  });

  test('beyond the safe integers are refused, and nothing is changed', async () => {
    await client.hset(STATE, { token: 'old', fence: String(Number.MAX_SAFE_INTEGER), ended: '1' });
    const before = await client.hgetall(STATE);
    await expect(take()).rejects.toMatchObject({ code: 'LOCK_STATE', lock: NAME });
    expect(await client.hgetall(STATE)).toEqual(before);
    expect(await client.exists(LOCK)).toBe(0);
  });
});

describe('a value of the wrong type', () => {
  test.each([LOCK, STATE])('at %s is named by the error, and nothing is changed', async (key) => {
    const lease = await take();
    await client.del(key);
    await client.rpush(key, 'other');
    const other = key === LOCK ? STATE : LOCK;
    const before = await client.dump(other);
    await expect(take()).rejects.toThrow(new RegExp(`Lock "${NAME}": .*${LOCK}`));
    await expect(store.release(lease)).rejects.toMatchObject({ code: 'LOCK_STATE' });
    expect(await store.extend([lease])).toMatchObject([{ held: null, error: { code: 'LOCK_STATE' } }]);
    expect(await client.dump(other)).toEqual(before);
    expect(await client.lrange(key, 0, -1)).toEqual(['other']);
  });
});

describe('a server without the scripts', () => {
  test('is sent them in full, and by their digests after that', async () => {
    const monitor = await client.monitor();
    const sent: string[] = [];
    const watched = new Promise<void>((resolve) => {
      monitor.on('monitor', (_time: string, args: string[], source: string) => {
        const command = args[0]?.toLowerCase() ?? '';
        if (source !== 'lua' && command.startsWith('eval')) sent.push(command);
        if (command === 'echo') resolve();
      });
    });
    try {
      await client.script('FLUSH');
      const lease = await take();
      await store.extend([lease]);
      await store.release(lease);
      const next = await take();
      await store.extend([next]);
      await store.release(next);
      await client.echo('end');
      await watched;
    } finally {
      monitor.disconnect();
    }
    const inFull = ['evalsha', 'eval'];
    expect(sent).toEqual([...inFull, ...inFull, ...inFull, 'evalsha', 'evalsha', 'evalsha']);
  });
});
