import { afterEach, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { systemClock } from '../../../../lib/base/clock.js';
import type { ExtendResult } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import type { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { commandsDuring } from '../../../support/local-redis.js';
import { ownStore } from './support/own-redis.js';

const HOUR = 3_600_000;

let client: Redis;
let store: RedisLockStore;
let tokens = 0;

ownStore((...own) => ([client, store] = own));
afterEach(() => void jest.restoreAllMocks());

const lockKey = (name: string): string => `scheduler:${name}:lock`;
const stateKey = (name: string): string => `{${lockKey(name)}}:state`;

/** A lease that has been renewed once: from then on a renewal is short, until an hour has passed. */
async function renewed(name: string, fields: Partial<LeaseRef> = {}): Promise<LeaseRef> {
  const request = { name, token: `token-${(tokens += 1)}`, ttl: HOUR, holder: 'host:1:abc', ...fields };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  const lease = { ...request, fencingToken: result.fencingToken };
  expect(await extend(lease)).toEqual({ held: true });
  return lease;
}

const contentOf = ({ token, fencingToken }: LeaseRef): string => `${token} ${fencingToken}`;

async function extend(lease: LeaseRef): Promise<ExtendResult> {
  const [result] = await store.extend([lease]);
  if (result === undefined) throw new Error('no result');
  return result;
}

/** The arguments of the commands that renewals send, without script and number of keys. */
async function sentFor(...leases: LeaseRef[]): Promise<string[][]> {
  const sent = await commandsDuring(client, () => store.extend(leases));
  return sent.filter(([command]) => command === 'evalsha').map((command) => command.slice(3));
}

test('the first renewal sends all that a restore needs, the others the content of its lock for each lease, and the ttl once', async () => {
  const [one, two] = [await renewed('one'), await renewed('two')];
  await store.extend([one, two]);
  const short = [lockKey('one'), lockKey('two'), String(HOUR), contentOf(one), contentOf(two)];
  expect(await sentFor(one, two)).toEqual([short]);
  // The same lease, told of anew: the store does not know that it has been renewed.
  const [[keys, ...rest] = [], ...others] = await sentFor({ ...one });
  expect([keys, others]).toEqual([lockKey('one'), []]);
  expect(rest).toEqual(expect.arrayContaining([stateKey('one'), one.token, one.holder]));
});

test('they renew', async () => {
  const [one, two] = [await renewed('one'), await renewed('two', { ttl: 2 * HOUR })];
  await client.pexpire(lockKey('one'), 1_000);
  await client.pexpire(lockKey('two'), 1_000);
  expect(await store.extend([two, one])).toEqual([{ held: true }, { held: true }]);
  expect(await client.pttl(lockKey('one'))).toBeGreaterThan(HOUR / 2);
  expect(await client.pttl(lockKey('one'))).toBeLessThanOrEqual(HOUR);
  expect(await client.pttl(lockKey('two'))).toBeGreaterThan(HOUR);
});

test('once an hour the state is looked at and prolonged as well', async () => {
  const lease = await renewed('job');
  await extend(lease);
  const start = systemClock.monotonic();
  const clock = jest.spyOn(systemClock, 'monotonic');
  clock.mockReturnValue(start + HOUR - 60_000);
  expect((await sentFor(lease)).flat()).not.toContain(stateKey('job'));
  clock.mockReturnValue(start + HOUR + 1);
  expect((await sentFor(lease)).flat()).toContain(stateKey('job'));
  expect((await sentFor(lease)).flat()).not.toContain(stateKey('job'));
});

test('each lease that has not its lock any more is looked at as a whole, and judged alone', async () => {
  const names = ['held', 'gone', 'ended', 'expired', 'replaced', 'broken'] as const;
  const leases = [];
  for (const name of names) leases.push(await renewed(name));
  await store.extend(leases);
  const [, , ended] = leases;
  await client.del(lockKey('gone'), stateKey('gone'));
  await store.release(ended as LeaseRef);
  await client.del(lockKey('expired'));
  await client.hset(stateKey('expired'), 'token', 'that of a newer lease', 'fence', '9007199254740000');
  await client.del(lockKey('replaced'), stateKey('replaced'));
  const other = await store.acquire({ name: 'replaced', token: 'another', ttl: HOUR, holder: 'host:2:def' });
  expect(other.acquired).toBe(true);
  await client.del(lockKey('broken'));
  await client.rpush(lockKey('broken'), 'not ours');
  expect(await store.extend(leases)).toMatchObject([
    { held: true },
    { held: true, restored: true },
    { held: false, reason: 'expired' },
    { held: false, reason: 'expired' },
    { held: false, reason: 'taken', holder: 'host:2:def' },
    { held: null, error: { code: 'LOCK_STATE', lock: 'broken' } },
  ]);
  expect(await client.get(lockKey('gone'))).toBe(contentOf(leases[1] as LeaseRef));
});

test('a Redis that does not answer fails each', async () => {
  const leases = [await renewed('one'), await renewed('two')];
  await store.extend(leases);
  jest.spyOn(client, 'evalsha').mockRejectedValue(new Error('Connection is closed.'));
  await expect(store.extend(leases)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
});

test('a short renewal of a lease whose token has a newer one changes nothing', async () => {
  const older = await renewed('kept');
  await extend(older);
  await client.del(lockKey('kept'));
  const { fencingToken: _, ...request } = older;
  const again = await store.acquire({ ...request, ttl: 10 * HOUR });
  expect(again).toMatchObject({ acquired: true });
  expect(await store.extend([older])).toEqual([{ held: false, reason: 'taken', holder: older.holder }]);
  expect(await client.pttl(lockKey('kept'))).toBeGreaterThan(9 * HOUR);
});

test('a lock of an older version of this library, which has only the token, is known as its lease', async () => {
  const lease = await renewed('old');
  await client.set(lockKey('old'), lease.token, 'PX', HOUR);
  const refused = { acquired: false, reason: 'held', holder: lease.holder };
  const other = { name: 'old', token: 'another', ttl: HOUR, holder: 'host:2:def' };
  expect(await store.acquire(other)).toMatchObject(refused);
  const wait = { limit: HOUR, priority: 0, process: 'two' };
  expect(await store.acquire({ ...other, wait })).toMatchObject(refused);
  expect(await store.inspect(['old'])).toMatchObject([{ state: 'held', holder: lease.holder }]);
  const newer = { ...other, token: 'newer', fencingToken: lease.fencingToken + 1 };
  expect(await store.extend([newer])).toEqual([{ held: true, restored: true }]);
});
