import { expect, test } from '@jest/globals';
import type { NewQueuedCall } from '../../../../lib/contract/queued-call-store.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const DAY = 86_400_000;
const TAKES = [{ job: 'job', ttl: DAY }];
const CALL: NewQueuedCall = {
  name: 'calendar',
  id: 'one',
  job: 'job',
  args: '[]',
  priority: 0,
  max: 10,
  redeliver: 0,
};

async function held(store: MemoryLockStore) {
  const lease = { name: 'calendar', token: 'token', ttl: 30 * DAY, holder: 'host:1:abc' };
  const grant = await store.acquire(lease);
  if (!grant.acquired) throw new Error(grant.reason);
  return { ...lease, fencingToken: grant.fencingToken };
}

test('a dead letter that is put back stays for its time once more, whenever its call was made', async () => {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const lease = await held(store);
  await store.queuedCalls.enqueue(CALL);
  await clock.advance(6 * DAY);
  const taken = await store.queuedCalls.next(lease, { takes: TAKES });
  expect(taken).toMatchObject({ queuedCall: { id: 'one' } });
  const fencingToken = 'fencingToken' in taken ? taken.fencingToken : 0;
  await store.queuedCalls.next(
    { ...lease, fencingToken, queuedCall: 'one' },
    { takes: TAKES, outcome: 'failed' },
  );
  await clock.advance(2 * DAY);
  expect(await store.queuedCalls.redeliver('calendar')).toBe(1);
  expect(await store.queuedCalls.next(await held(store), { takes: TAKES })).toMatchObject({
    queuedCall: { id: 'one' },
  });
});

test('a queued call is deleted after seven days', async () => {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const lease = await held(store);
  await store.queuedCalls.enqueue(CALL);
  await clock.advance(7 * DAY);
  expect((await store.queuedCalls.next(lease, { takes: TAKES })).queuedCall).toBeUndefined();
});

test('inspect says of a lock only what there is: queued calls, or dead letters', async () => {
  const store = new MemoryLockStore({ clock: new ManualClock() });
  const lease = await held(store);
  const said = async () =>
    Object.keys((await store.inspect(['calendar']))[0] ?? {}).filter((key) => /queued|dead/.test(key));
  expect(await said()).toEqual([]);
  await store.queuedCalls.enqueue(CALL);
  expect(await said()).toEqual(['queued']);
  const taken = await store.queuedCalls.next(lease, { takes: TAKES });
  const fencingToken = 'fencingToken' in taken ? taken.fencingToken : 0;
  const run = { ...lease, fencingToken, queuedCall: 'one' };
  await store.queuedCalls.next(run, { takes: TAKES, outcome: 'failed' });
  expect(await said()).toEqual(['dead']);
});
