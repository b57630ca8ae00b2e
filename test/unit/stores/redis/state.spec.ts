import { describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { commandsDuring } from '../../../support/local-redis.js';
import { ownStore } from './support/own-redis.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NAME = 'refresh';
const LOCK = `scheduler:${NAME}:lock`;
const STATE = `{${LOCK}}:state`;
const RUN = { job: 'RefreshJobs.refresh', tick: 1_760_000_000_000, attempt: 1 };

let client: Redis;
let store: RedisLockStore;
let tokens = 0;

ownStore((...own) => ([client, store] = own));

async function take(fields: Partial<LeaseRef> & { history?: boolean } = {}): Promise<LeaseRef> {
  const request = { name: NAME, token: `token-${(tokens += 1)}`, ttl: HOUR, holder: 'host:1:abc', ...fields };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

/**
 * How long the state outlives the lease: at least as long as promised, and two hours more at most, so that most leases
 * need not prolong it.
 */
async function expectRetention(promised: number): Promise<void> {
  const left = (await client.pttl(STATE)) - HOUR;
  // Only minutes of delay could change it.
  expect(left).toBeGreaterThan(promised + 0.5 * HOUR);
  expect(left).toBeLessThanOrEqual(promised + 2 * HOUR);
  // Not PEXPIRETIME, which Redis knows from version 7 on.
  const [[seconds], ttl, kept] = await Promise.all([
    client.time(),
    client.pttl(STATE),
    client.hget(STATE, 'kept'),
  ]);
  expect(Math.abs(Number(kept) - (Number(seconds) * 1_000 + ttl))).toBeLessThan(0.5 * HOUR);
}

/** As if the lease before had been long ago. */
async function forgetRetention(): Promise<void> {
  await client.multi().hset(STATE, { kept: '0', fence: '1' }).pexpire(STATE, HOUR).exec();
}

describe('what Redis keeps', () => {
  test('for a lease: the token and the fencing token in the lock, everything else in the state beside it', async () => {
    const before = Number((await client.time())[0]);
    const { token, fencingToken } = await take();
    expect(await client.get(LOCK)).toBe(`${token} ${fencingToken}`);
    const { since, kept, ...state } = await client.hgetall(STATE);
    expect(state).toEqual({ token, fence: String(fencingToken), holder: 'host:1:abc' });
    expect(Number(since)).toBeGreaterThanOrEqual(before);
    expect(Number(kept)).toBeGreaterThan(before * 1_000 + DAY);
    expect(await client.keys('*')).toEqual(expect.arrayContaining([LOCK, STATE]));
    expect(await client.dbsize()).toBe(2);
  });

  test('for a run: what is known of its job, and what it has overwritten there', async () => {
    const { token } = await take(RUN);
    const record = `job:${RUN.job}`;
    expect(await client.hgetall(STATE)).toMatchObject({
      [record]: `${RUN.tick} 1 - `,
      [`by:${RUN.job}`]: token,
      [`before:${RUN.job}`]: '',
    });
  });

  test.each(['completed', 'failed'] as const)(
    'after a release: which lease has ended, that the run of its job has %s, and no lock',
    async (outcome) => {
      const lease = await take(RUN);
      expect(await store.release(lease, { outcome })).toEqual({ released: true });
      expect(await client.hgetall(STATE)).toMatchObject({
        token: lease.token,
        since: '',
        [`job:${RUN.job}`]: `${RUN.tick} 1 ${outcome} `,
      });
      expect(await client.exists(LOCK)).toBe(0);
      expect(await store.release(lease, { outcome })).toEqual({ released: false, reason: 'ended' });
    },
  );

  test('after a release: since when the lease was held, for inspect()', async () => {
    const [before] = await client.time();
    const lease = await take();
    const [held] = await store.inspect();
    await store.release(lease);
    const [free] = await store.inspect();
    const [after] = await client.time();
    expect(free).toMatchObject({ state: 'free', holder: lease.holder, fencingToken: lease.fencingToken });
    expect(free?.since).toBe(held?.since);
    expect(held?.since).toBe(Math.floor(lease.fencingToken / 1_000));
    for (const info of [held, free]) {
      expect(info?.since).toBeGreaterThanOrEqual(Number(before) * 1_000);
      expect(info?.since).toBeLessThan((Number(after) + 1) * 1_000);
    }
  });

  test('after a release with atLeast: a lock that is no lease, so that its token cannot free it', async () => {
    const lease = await take();
    await store.release(lease, { keepFor: HOUR });
    expect(await client.get(LOCK)).toBe(`ended:${lease.token}`);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'ended' });
    expect(await client.pttl(LOCK)).toBeGreaterThan(HOUR / 2);
  });

  test('after the release of a lease that has the lock, though its state says that it ended', async () => {
    const lease = await take(RUN);
    await client.hset(STATE, 'since', '');
    expect(await store.release(lease, { outcome: 'failed' })).toEqual({ released: true });
    expect(await client.exists(LOCK)).toBe(0);
    expect(await client.hget(STATE, `job:${RUN.job}`)).toBe(`${RUN.tick} 1 failed `);
  });

  test('after an abandoned lease: nothing of its run', async () => {
    const lease = await take(RUN);
    await store.release(lease, { outcome: 'abandoned' });
    expect(await client.hgetall(STATE)).toMatchObject({
      token: lease.token,
      since: '',
      [`job:${RUN.job}`]: '',
    });
  });

  test('after a restore: the same as before', async () => {
    const lease = await take({ ...RUN, history: true });
    const { since: _, kept: __, ...before } = await client.hgetall(STATE);
    await client.flushall();
    expect(await store.extend([lease])).toEqual([{ held: true, restored: true }]);
    const { since: ___, kept: ____, ...after } = await client.hgetall(STATE);
    expect(after).toEqual(before);
    expect(await client.get(LOCK)).toBe(`${lease.token} ${lease.fencingToken}`);
  });

  test('after a restore over an older lease: what is known of it, and what it has replaced', async () => {
    await store.release(await take(RUN), { outcome: 'failed' });
    await client.hset(STATE, 'later', 'version');
    const older = { ...(await client.hgetall(STATE)), kept: '0' };
    const lease = await take({ ...RUN, tick: RUN.tick + 1, attempt: 1, history: true });
    const { since: _, kept: __, ...before } = await client.hgetall(STATE);
    // A snapshot, or a replica, that missed the last writes.
    await client.multi().del(LOCK, STATE).hset(STATE, older).exec();
    expect(await store.extend([lease])).toEqual([{ held: true, restored: true }]);
    const { since: ___, kept: ____, ...after } = await client.hgetall(STATE);
    expect(after).toEqual(before);
    expect(after).toMatchObject({ later: 'version', [`before:${RUN.job}`]: `${RUN.tick} 1 failed ` });
    await expectRetention(400 * DAY);
    await store.release(lease);
    expect(await client.hget(STATE, `job:${RUN.job}`)).toBe(`${RUN.tick + 1} 1 completed `);
  });

  test.each([0, HOUR])(
    'after a restore over an older lease that has the lock, kept for %d ms: the same',
    async (keepFor) => {
      const former = await take(RUN);
      if (keepFor > 0) await store.release(former, { keepFor });
      const [value, older] = [await client.get(LOCK), await client.hgetall(STATE)];
      await client.del(LOCK);
      const lease = await take({ ...RUN, tick: RUN.tick + 1, attempt: 1, history: true });
      const { since: _, kept: __, ...before } = await client.hgetall(STATE);
      await client
        .multi()
        .del(STATE)
        .hset(STATE, older)
        .set(LOCK, value ?? '', 'PX', 10 * HOUR)
        .exec();
      expect(await store.extend([lease])).toEqual([{ held: true, restored: true }]);
      const { since: ___, kept: ____, ...after } = await client.hgetall(STATE);
      expect(after).toEqual(before);
      expect(await client.get(LOCK)).toBe(`${lease.token} ${lease.fencingToken}`);
      expect(await client.pttl(LOCK)).toBeLessThanOrEqual(lease.ttl);
    },
  );

  test('of an older lease, while another client has the lock: all of it', async () => {
    await store.release(await take());
    const older = await client.hgetall(STATE);
    const lease = await take();
    await client.multi().del(STATE).hset(STATE, older).set(LOCK, 'another client').exec();
    expect(await store.extend([lease])).toEqual([{ held: false, reason: 'taken' }]);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'taken' });
    expect(await client.hgetall(STATE)).toEqual(older);
    expect(await client.get(LOCK)).toBe('another client');
  });

  test('after the end of a lease of which it had only an older one: that it has ended', async () => {
    await store.release(await take());
    const older = { ...(await client.hgetall(STATE)), kept: '0' };
    const lease = await take();
    await client.multi().del(LOCK, STATE).hset(STATE, older).exec();
    expect(await store.release(lease)).toEqual({ released: false, reason: 'expired' });
    const { token, fencingToken } = lease;
    expect(await client.hgetall(STATE)).toMatchObject({ token, fence: String(fencingToken), since: '' });
    await expectRetention(DAY);
  });

  test('of a newer lease, when the end of an older one comes late: all of it', async () => {
    const lease = await take();
    await client.del(LOCK);
    await take();
    await client.del(LOCK);
    const newer = await client.hgetall(STATE);
    expect(await store.release(lease)).toEqual({ released: false, reason: 'expired' });
    expect(await client.hgetall(STATE)).toEqual(newer);
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
    await expectRetention(DAY);
    await forgetRetention();
    await store.extend([lease]);
    await expectRetention(DAY);
    await store.release(lease);
    await expectRetention(DAY);
    await forgetRetention();
    await take();
    await expectRetention(DAY);
  });

  test('for 400 days after a lease with a tick, also when leases without one follow', async () => {
    const lease = await take(RUN);
    await expectRetention(400 * DAY);
    await forgetRetention();
    await store.extend([lease]);
    await expectRetention(400 * DAY);
    await store.release(lease);
    const next = await take();
    await store.extend([next]);
    await expectRetention(400 * DAY);
  });

  test('for a day after any lease, though only the first of an hour prolongs it', async () => {
    await forgetRetention();
    const [seconds] = await client.time();
    // Enough for this lease, not for those that follow within the hour.
    await client.hset(STATE, 'kept', String(Number(seconds) * 1_000 + DAY + 60_000));
    const first = await take({ ttl: 1_000 });
    expect(await client.pttl(STATE)).toBeGreaterThan(DAY + 1.9 * HOUR);
    await store.release(first);
    await client.hset(STATE, 'kept', '0');
    const second = await take();
    const [hour, next] = [first, second].map(({ fencingToken }) => Math.floor(fencingToken / (HOUR * 1_000)));
    // The hour may just have ended.
    if (next === hour) expect(await client.hget(STATE, 'kept')).toBe('0');
    else expect(await client.hget(STATE, 'kept')).not.toBe('0');
    expect(await client.pttl(STATE)).toBeGreaterThan(HOUR + DAY);
  });

  test('for longer after leases for which what the first of the hour has added is not enough', async () => {
    await store.release(await take());
    await store.release(await take({ ttl: 5 * HOUR }));
    expect(await client.pttl(STATE)).toBeGreaterThan(5 * HOUR + DAY);
    await store.release(await take(RUN));
    await expectRetention(400 * DAY);
  });

  test('by a lease that finds nonsense in it', async () => {
    await client.hset(STATE, { kept: 'nonsense', fence: 'nonsense' });
    await take();
    await expectRetention(DAY);
  });

  test('for a day where it had to be written anew by a release', async () => {
    const lease = await take();
    await client.del(LOCK, STATE);
    await store.release(lease);
    await expectRetention(DAY);
  });

  test('for a day where it was lost under a lease that completed', async () => {
    const lease = await take();
    await client.del(STATE);
    expect(await store.release(lease)).toEqual({ released: true });
    const { token, fencingToken } = lease;
    expect(await client.hgetall(STATE)).toMatchObject({
      token,
      fence: String(fencingToken),
      since: '',
      holder: '',
    });
    await expectRetention(DAY);
    // Nor is anything made up for people.
    expect(await store.inspect()).toEqual([
      { name: NAME, time: expect.any(Number), state: 'free', jobs: [] },
    ]);
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
    await client.hset(STATE, { token: 'old', fence: String(last) });
    const first = await take();
    expect(first.fencingToken).toBe(last + 1);
    await store.release(first);
    expect((await take()).fencingToken).toBe(last + 2);
    expect(await client.hget(STATE, 'fence')).toBe(String(last + 2));
  });

  test('beyond the safe integers are refused, and nothing is changed', async () => {
    await client.hset(STATE, { token: 'old', fence: String(Number.MAX_SAFE_INTEGER) });
    const before = await client.hgetall(STATE);
    await expect(take()).rejects.toMatchObject({ code: 'LOCK_STATE', lock: NAME });
    expect(await client.hgetall(STATE)).toEqual(before);
    expect(await client.exists(LOCK)).toBe(0);
  });
});

describe('an abandoned rerun', () => {
  test('leaves the interrupted run that it was to repeat, for somebody else to repeat', async () => {
    const request = { name: NAME, ttl: HOUR, holder: 'host:1:abc', job: 'nightly', tick: RUN.tick, rerun: 3 };
    await store.acquire({ ...request, token: 'first' });
    await client.del(LOCK); // its holder died, and the lease is over
    const second = { ...request, token: 'second' };
    expect(await store.acquire(second)).toMatchObject({ acquired: true, attempt: 2 });
    await store.release({ ...second, fencingToken: 0, attempt: 2 }, { outcome: 'abandoned' });
    expect(await store.acquire({ ...request, token: 'third' })).toMatchObject({ acquired: true, attempt: 2 });
  });
});

describe('a server that is out of memory', () => {
  test.each([
    ['a plain run', {}, {}],
    ['a run of a tick', RUN, {}],
  ])('still frees the lock of %s', async (_what, run, options) => {
    const lease = await take(run);
    await client.config('SET', 'maxmemory', '1');
    try {
      expect(await store.release(lease, options)).toEqual({ released: true });
      expect(await client.exists(LOCK)).toBe(0);
      await expect(take()).rejects.toThrow(/OOM/);
      expect(await client.exists(LOCK)).toBe(0);
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
    expect(await client.hmget(STATE, 'token', 'since')).toEqual([lease.token, '']);
  });

  test('still lets the lock of a run with atLeast run out', async () => {
    const lease = await take();
    await client.config('SET', 'maxmemory', '1');
    try {
      expect(await store.release(lease, { keepFor: 60_000 })).toEqual({ released: true });
    } finally {
      await client.config('SET', 'maxmemory', '0');
    }
    expect(await client.pttl(LOCK)).toBeLessThanOrEqual(60_000);
  });
});

describe('a lock that was given back here', () => {
  const request = { name: NAME, token: 'mine', ttl: HOUR, holder: 'host:1:abc' };

  test('is left to whoever has it by now', async () => {
    await store.release(await take());
    const other = new RedisLockStore(client, { key: (name) => `scheduler:${name}:lock` });
    await other.init();
    const theirs = { ...request, token: 'theirs', holder: 'there' };
    expect(await other.acquire(theirs)).toMatchObject({ acquired: true });
    const refused = await store.acquire(request);
    expect(refused).toMatchObject({ acquired: false, reason: 'held', holder: 'there' });
    expect(refused).toHaveProperty('expiresIn', expect.any(Number));
    await other.close();
    await client.set(LOCK, 'a stranger', 'PX', HOUR);
    expect(await store.acquire(request)).toMatchObject({ acquired: false, reason: 'held' });
    expect(await client.get(LOCK)).toBe('a stranger');
  });

  test('is granted once to a token that has it already, and again where that was forgotten', async () => {
    await store.release(await take());
    const granted = await store.acquire(request);
    expect(await store.acquire(request)).toEqual(granted);
    await client.del(STATE);
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    expect(await client.hget(STATE, 'token')).toBe('mine');
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
    const sent = await commandsDuring(client, async () => {
      await client.script('FLUSH');
      for (let i = 0; i < 3; i++) {
        const lease = await take();
        await store.extend([lease]);
        await store.release(lease);
      }
    });
    const evals = sent.map(([command = '']) => command).filter((command) => command.startsWith('eval'));
    const inFull = ['evalsha', 'eval'];
    const known = 'evalsha';
    expect(evals).toEqual([inFull, inFull, inFull, known, known, known, known, known, known].flat());
  });
});
