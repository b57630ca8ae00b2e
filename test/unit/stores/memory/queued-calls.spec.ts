import { expect, test } from '@jest/globals';
import { MemoryLockStore, type NewEvent } from '../../../../lib/index.js';
import { ManualClock } from '../../../../lib/testing/index.js';

const DAY = 86_400_000;
const TAKES = [{ job: 'job', ttl: DAY }];
const EVENT: NewEvent = {
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

test('a dead letter that is put back is kept for its time once more, whenever its call was made', async () => {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const lease = await held(store);
  await store.events.enqueue(EVENT);
  await clock.advance(6 * DAY);
  const taken = await store.events.next(lease, { takes: TAKES });
  expect(taken).toMatchObject({ event: { id: 'one' } });
  const fencingToken = 'fencingToken' in taken ? taken.fencingToken : 0;
  await store.events.next({ ...lease, fencingToken, event: 'one' }, { takes: TAKES, outcome: 'failed' });
  await clock.advance(2 * DAY);
  expect(await store.events.redeliver('calendar')).toBe(1);
  expect(await store.events.next(await held(store), { takes: TAKES })).toMatchObject({
    event: { id: 'one' },
  });
});

test('what was kept for seven days is deleted', async () => {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const lease = await held(store);
  await store.events.enqueue(EVENT);
  await clock.advance(7 * DAY);
  expect((await store.events.next(lease, { takes: TAKES })).event).toBeUndefined();
});
