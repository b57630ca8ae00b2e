import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { HintChannel } from '../../lib/contract/lock-store.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { shell } from '../support/shell.js';
import { until } from '../support/until.js';

/* What the shell queues is announced on a server that does not know the script of a hint yet: that takes two commands. */

let redis: LocalRedis;
let store: RedisLockStore;
let channel: HintChannel;
let heard: string[];

beforeEach(async () => {
  redis = await startRedis();
  store = new RedisLockStore(redis.url);
  await store.init();
  heard = [];
  channel = store.hints('api-1', (hint) => heard.push(hint));
  await until(() => channel.open);
});
afterEach(async () => {
  channel.close();
  await store.close();
  await redis.stop();
});

async function addDeadLetter(name: string): Promise<void> {
  const call = { name, id: 'one', job: 'Orders.send', args: '[]', priority: 0, max: 10, redeliver: 0 };
  await store.queuedCalls.enqueue(call);
  const lease = { name, token: 'token', ttl: 60_000, holder: 'api-1' };
  const grant = await store.acquire(lease);
  if (!grant.acquired) throw new Error('it is taken');
  const held = { ...lease, fencingToken: grant.fencingToken };
  const next = await store.queuedCalls.next(held, { takes: [{ job: call.job, ttl: 60_000 }] });
  const { fencingToken } = next as { fencingToken: number };
  await store.release({ ...held, fencingToken, queuedCall: call.id }, { outcome: 'failed' });
}

test('a redelivery by the shell', async () => {
  await addDeadLetter('orders');
  expect(await shell(redis.url, 'redeliver', 'orders')).toMatchObject({ code: 0, err: '' });
  await until(() => heard.length > 0);
  expect(heard).toEqual(['queued']);
});
