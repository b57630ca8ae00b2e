import { expect, test } from '@jest/globals';
import { Control } from '../../../lib/control/control.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

test('dead letters of a lock that the store shows no more are put back: Redis forgets a lock after a day', async () => {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const id = 'one';
  await store.queuedCalls.enqueue({
    name: 'orders',
    id,
    job: 'Orders.send',
    args: '[]',
    priority: 0,
    max: 10,
    redeliver: 0,
  });
  const lease = { name: 'orders', token: 'token', ttl: 60_000, holder: 'api-1' };
  const grant = await store.acquire(lease);
  if (!grant.acquired) throw new Error('it is taken');
  const held = { ...lease, fencingToken: grant.fencingToken };
  const next = await store.queuedCalls.next(held, { takes: [{ job: 'Orders.send', ttl: 60_000 }] });
  const { fencingToken } = next as { fencingToken: number };
  await store.release({ ...held, fencingToken, queuedCall: id }, { outcome: 'failed' });
  store.inspect = () => Promise.resolve([]);
  const control = new Control(store, { clock, instance: 'shell' });
  const request = { lock: 'orders', actor: 'anna' };
  expect(await control.redeliver(request)).toMatchObject({ result: 'redelivered', count: 1 });
  expect(await control.redeliver(request)).toMatchObject({ result: 'redelivered', count: 0 });
  const noted = async (name: string): Promise<unknown> => store.history.entries({ name, limit: 9 });
  expect(await noted('orders')).toMatchObject([{ by: { action: 'redeliver', actor: 'anna', count: 1 } }]);
  expect(await control.redeliver({ ...request, lock: 'ordres' })).toMatchObject({ count: 0 });
  expect(await noted('ordres')).toEqual([]);
});
