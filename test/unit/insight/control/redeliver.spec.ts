import { beforeEach, expect, test } from '@jest/globals';
import { Control } from '../../../../lib/insight/control/control.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

let clock: ManualClock;
let store: MemoryLockStore;
let control: Control;

/** A lock with a dead letter. */
beforeEach(async () => {
  clock = new ManualClock();
  store = new MemoryLockStore({ clock });
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
  control = new Control(store, { clock, instance: 'shell' });
});

const request = { lock: 'orders', actor: 'anna' };

test('dead letters of a lock that the store shows no more are put back: Redis forgets a lock after a day', async () => {
  store.inspect = () => Promise.resolve([]);
  expect(await control.redeliver(request)).toMatchObject({ result: 'redelivered', count: 1 });
  expect(await control.redeliver(request)).toMatchObject({ result: 'redelivered', count: 0 });
  const noted = async (name: string): Promise<unknown> => store.history.entries({ name, limit: 9 });
  expect(await noted('orders')).toMatchObject([{ by: { action: 'redeliver', actor: 'anna', count: 1 } }]);
  expect(await control.redeliver({ ...request, lock: 'ordres' })).toMatchObject({ count: 0 });
  expect(await noted('ordres')).toEqual([]);
});

test('it is over when the hint has been sent: the shell then closes its connection', async () => {
  let sent: () => void = () => undefined;
  store.queuedCalls.announce = () => new Promise((resolve) => (sent = resolve));
  let isOver = false;
  const redelivered = control.redeliver(request).then((result) => ((isOver = true), result));
  await clock.advance(0);
  expect(isOver).toBe(false);
  sent();
  expect(await redelivered).toMatchObject({ count: 1 });
});

test.each([
  ['rejects', () => Promise.reject(new Error('no hint'))],
  [
    'throws',
    () => {
      throw new Error('no hint');
    },
  ],
])('a hint that a store of your own %s costs nothing', async (_, announce: () => Promise<void>) => {
  store.queuedCalls.announce = announce;
  expect(await control.redeliver(request)).toMatchObject({ result: 'redelivered', count: 1 });
});

test('a hint that never ends is waited for as long as any call of the store', async () => {
  store.queuedCalls.announce = () => new Promise(() => undefined);
  const redelivered = control.redeliver(request);
  await clock.advance(5_000);
  expect(await redelivered).toMatchObject({ result: 'redelivered', count: 1 });
});
