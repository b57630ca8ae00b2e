import { expect, test } from '@jest/globals';
import { Control } from '../../../../lib/insight/control/control.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const JOB = 'Orders.send';
const lease = { name: 'orders', token: 'token', ttl: 60_000, holder: 'api-1' };
const request = { job: JOB, actor: 'anna' } as const;

async function opened() {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const [schedule, timeZone] = ['0 0 1 1 *', 'UTC'];
  const job = {
    job: JOB,
    lock: 'orders',
    kind: 'cron',
    schedule,
    timeZone,
    enabled: true,
    takesCalls: true,
    overdue: 60_000,
  } as const;
  const kept = { count: 100, age: 86_400_000 };
  await store.history.beat({
    instance: 'api-1',
    startedAt: clock.now(),
    every: 30_000,
    left: false,
    leads: [],
    kept,
    catalogue: 'one',
    jobs: [job],
  });
  return { clock, store, kept, control: new Control(store, { clock, instance: 'shell' }) };
}

async function take(store: MemoryLockStore): Promise<number> {
  const grant = await store.acquire(lease);
  if (!grant.acquired) throw new Error('it is taken');
  return grant.fencingToken;
}

test('a run that an instance is about to begin is answered as started, not as queued behind its own lease', async () => {
  const { clock, store, kept, control } = await opened();
  const { enqueue } = store.queuedCalls;
  let lock = 0;
  store.queuedCalls.enqueue = async (call) => {
    const answer = await enqueue.call(store.queuedCalls, call);
    lock = await take(store);
    return answer;
  };
  const answer = control.runNow(request);
  await clock.advance(0);
  expect(lock).toBeGreaterThan(0);
  const next = await store.queuedCalls.next(
    { ...lease, fencingToken: lock },
    { takes: [{ job: JOB, ttl: 60_000 }] },
  );
  const { queuedCall, fencingToken } = next as { queuedCall: { args: string }; fencingToken: number };
  const { by } = JSON.parse(queuedCall.args) as { by: never };
  await store.history.interrupted({ ...lease, fencingToken, job: JOB, kept, by });
  await clock.advance(10_000);
  expect(await answer).toMatchObject({ result: 'started', fencingToken });
});

test('a run whose lock somebody else has is answered as queued, with the holder', async () => {
  const { clock, store, control } = await opened();
  await take(store);
  const answer = control.runNow(request);
  await clock.advance(1_000);
  expect(await answer).toMatchObject({ result: 'queued', holder: 'api-1' });
});
