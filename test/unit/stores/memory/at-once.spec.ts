import { expect, test } from '@jest/globals';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { FakeLockStore } from '../../../../lib/testing/fake-lock-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const request = { name: 'report', token: 'token', ttl: 60_000, holder: 'host:1:abc' };

test('a call takes effect before it returns its promise: who calls next finds it done', async () => {
  const store = new MemoryLockStore();
  const grant = store.acquire(request);
  expect(await store.inspect(['report'])).toMatchObject([{ state: 'held', holder: 'host:1:abc' }]);
  const { fencingToken } = (await grant) as { fencingToken: number };
  void store.release({ ...request, fencingToken });
  expect(await store.inspect(['report'])).toMatchObject([{ state: 'free' }]);
});

test('a run that has begun can be made to lose its lock at once', async () => {
  const store = new FakeLockStore();
  void store.acquire(request);
  await store.lose('report');
  expect(await store.acquire({ ...request, token: 'another' })).toMatchObject({ acquired: false });
  expect(await store.extend([{ ...request, fencingToken: 1 }])).toMatchObject([{ held: false }]);
});

test.each([0.1, 1e-3, 1e-5, 1e-9])(
  'a lease that ends in %s ms is live for each call, on a clock that stands still',
  async (left) => {
    const clock = new ManualClock(1_700_000_000_000.3);
    const store = new MemoryLockStore({ clock });
    const { fencingToken } = (await store.acquire(request)) as { fencingToken: number };
    await clock.advance(request.ttl - left);
    const [info] = await store.inspect(['report']);
    const isHeld = info?.state === 'held';
    const other = await store.acquire({ ...request, token: 'another' });
    expect(other.acquired).toBe(!isHeld);
    expect(await store.release({ ...request, fencingToken })).toMatchObject({ released: isHeld });
  },
);
