import { expect, test } from '@jest/globals';
import { SafeStore } from '../../../../lib/lock/access/safe-store.js';
import { TimeLimits } from '../../../../lib/lock/access/time-limits.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import type { FastPort } from '../../../../lib/contract/fast-port.js';
import type { AcquireRequest, LeaseRef, LockStore } from '../../../../lib/contract/lock-store.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';

const REQUEST: AcquireRequest = { name: 'job', token: 'token', ttl: 1_000, holder: 'me' };
const LEASE: LeaseRef = { ...REQUEST, fencingToken: 7 };

/** A store of this library on a client that grants and confirms everything, and what the client was sent. */
function storeOnRedis() {
  const sent: unknown[] = [];
  const client = {
    status: 'ready',
    evalsha: async (...call: unknown[]) => sent.push(call),
    mget: async () => [],
    eval: async () => 1,
    connect: async () => undefined,
    on: () => undefined,
    off: () => undefined,
  };
  return { sent, store: new RedisLockStore(client, { key: (name) => name }) };
}

async function ask(store: LockStore): Promise<unknown[]> {
  const asked = new SafeStore(store, new TimeLimits(new ManualClock()));
  const outcomes = [
    await asked.acquire(REQUEST, 1_000, 0).outcome,
    await asked.release(LEASE, {}, 1_000, 0).outcome,
  ];
  return outcomes.map((outcome) => ('error' in outcome ? outcome.error : outcome.result));
}

test('a store of this library answers', async () => {
  const { sent, store } = storeOnRedis();
  expect(await ask(store)).toEqual([
    { acquired: true, fencingToken: 1 },
    { released: false, reason: 'ended' },
  ]);
  expect(sent).toHaveLength(2);
});

const ours = { acquired: false, reason: 'held' } as const;
const expired = { released: false, reason: 'expired' } as const;

test('whoever wraps the methods of a store of this library is asked, however they do it', async () => {
  const { sent, store } = storeOnRedis();
  const proxy = new Proxy(store, {
    get: (target, key) =>
      key === 'acquire'
        ? async () => ours
        : key === 'release'
          ? async () => expired
          : Reflect.get(target, key),
  });
  expect(await ask(proxy)).toEqual([ours, expired]);
  expect(
    await ask(
      Object.assign(Object.create(store) as LockStore, {
        acquire: async () => ours,
        release: async () => expired,
      }),
    ),
  ).toEqual([ours, expired]);
  store.acquire = async () => ours;
  store.release = async () => expired;
  expect(await ask(store)).toEqual([ours, expired]);
  expect(sent).toEqual([]);
});

test('a fast port that throws at once has failed, as any call of a store', async () => {
  const { store } = storeOnRedis();
  const port = (store as unknown as { readonly fastPort: FastPort }).fastPort;
  const broken = new Error('broken');
  port.acquire = port.release = () => {
    throw broken;
  };
  expect(await ask(store)).toEqual([broken, broken]);
});
