import { beforeEach, expect, jest, test } from '@jest/globals';
import { LockStateError, StoreUnavailableError } from '../../../lib/base/errors.js';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { currentLock, type Lock } from '../../../lib/lock/current-lock.js';
import type { LockSettings } from '../../../lib/lock/lock-call.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { Recorder } from '../../../lib/lock/recorder.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { LOOK_FOR_QUEUED, type NewQueuedCall } from '../../../lib/contract/queued-call-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { gate, SETTINGS } from './harness.js';
import { locksOnly } from '../../support/locks-only.js';
import { isEvent } from '../../support/events.js';

/** Calls that are queued, and run for nobody: what the lease tells of them. */

let clock: ManualClock;
let store: MemoryLockStore;
let events: SchedulerLockEvent[];
let runner: LockRunner;

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryLockStore({ clock });
  events = [];
  runner = new LockRunner(store, 'here', clock, (event) => events.push(event), SETTINGS.storeTimeout);
});

const notConnected = new StoreUnavailableError('not connected', { outcome: 'not-applied' });
const refused = new StoreUnavailableError('no rights', { outcome: 'not-applied', refused: true });

const callOf = (id: string): NewQueuedCall => ({
  name: 'lock',
  id,
  job: 'Jobs.sync',
  args: '[]',
  priority: 0,
  max: 10,
  redeliver: 1,
});

async function enqueue(id: string) {
  const outcome = runner.enqueue(callOf(id), SETTINGS.storeTimeout);
  await clock.advance(0);
  return outcome;
}

/** Runs the queued calls of the lock, for as long as there are any. */
function drain(run: (args: readonly unknown[]) => unknown, more: Partial<LockSettings> = {}) {
  const settings = { ...SETTINGS, wait: 60_000, ...more };
  const queueJob = { job: 'Jobs.sync', lock: undefined, settings, run, isGone: () => false };
  const jobs = new Map([['Jobs.sync', queueJob]]);
  const drainer = { jobs, asks: () => undefined, standsBehind: () => undefined };
  return runner.drain({ kind: 'drain', name: 'lock', job: undefined, settings }, drainer);
}

test('queued calls run one after another, and the end of each is confirmed', async () => {
  for (const id of ['one', 'two']) await enqueue(id);
  const tokens: unknown[] = [];
  const drained = drain(() => void tokens.push(currentLock().fencingToken));
  await clock.advance(0);
  expect(await drained).toEqual({ ran: true, value: undefined });
  const released = events.filter(({ type }) => type === 'released');
  expect(released).toMatchObject(
    tokens.map((fencingToken) => ({ fencingToken, outcome: 'completed', confirmed: true })),
  );
  expect(new Set(tokens).size).toBe(2);
});

test('the run that a shutdown waits for is the last one, knows its call, and is told of with its end', async () => {
  for (const id of ['one', 'two']) await enqueue(id);
  const job = gate();
  let seen: Lock | undefined;
  void drain(() => {
    seen = currentLock();
    return job.opened;
  });
  await clock.advance(1_000);
  expect(seen?.queuedCall).toMatchObject({ delivery: 1, merged: 0 });
  const release = jest.spyOn(store, 'release');
  const closed = runner.shutdown(10_000);
  job.open();
  await clock.advance(0);
  await closed;
  expect(release).toHaveBeenCalledTimes(1);
  expect(events.filter(({ type }) => type === 'released')).toMatchObject([
    { job: 'Jobs.sync', outcome: 'completed', duration: 1_000, confirmed: true },
  ]);
  expect(await store.inspect(['lock'])).toMatchObject([{ state: 'free' }]);
  expect(await store.queuedCalls.left(['Jobs.sync'])).toMatchObject([{ name: 'lock' }]);
});

test('a store remembers that a run was queued', async () => {
  runner.remember(new Recorder(store.history, { kept: { count: 10, age: 60_000 }, error: 'message' }));
  await enqueue('one');
  void drain(() => 'done', { history: true });
  await clock.advance(0);
  expect(await store.history.entries({ name: 'lock', limit: 10 })).toMatchObject([
    { outcome: 'completed', trigger: 'queued', job: 'Jobs.sync' },
  ]);
});

test('the next queued call is asked for when a renewal under way is answered: calls for one lease do not overtake', async () => {
  await enqueue('one');
  const next = jest.spyOn(store.queuedCalls, 'next');
  const [job, answer] = [gate(), gate()];
  const extend = store.extend.bind(store);
  store.extend = async (leases) => {
    await answer.opened;
    return extend(leases);
  };
  void drain(() => job.opened);
  await clock.advance(SETTINGS.heartbeat as number);
  job.open();
  await clock.advance(1_000);
  expect(next).toHaveBeenCalledTimes(1);
  answer.open();
  await clock.advance(0);
  expect(next).toHaveBeenCalledTimes(2);
  expect(events.filter(({ type }) => type === 'released')).toMatchObject([{ confirmed: true }]);
});

test('a queued call whose delivery is not answered does not keep the lock, and is delivered once more', async () => {
  await enqueue('one');
  const deliver = store.queuedCalls.next.bind(store.queuedCalls);
  store.queuedCalls.next = async (...asked) => {
    await deliver(...asked);
    return new Promise(() => undefined);
  };
  const deliveries: (number | undefined)[] = [];
  const run = () => void deliveries.push(currentLock().queuedCall?.delivery);
  void drain(run);
  await clock.advance(SETTINGS.storeTimeout);
  expect(deliveries).toEqual([]);
  expect(await store.inspect(['lock'])).toMatchObject([{ state: 'free' }]);
  store.queuedCalls.next = deliver;
  void drain(run);
  await clock.advance(0);
  expect(deliveries).toEqual([2]);
});

test('a queued call that was delivered too often without an end is told of as a dead letter', async () => {
  await enqueue('one');
  const deliver = store.queuedCalls.next.bind(store.queuedCalls);
  store.queuedCalls.next = async (...asked) => {
    await deliver(...asked);
    return new Promise(() => undefined);
  };
  const run = jest.fn();
  for (let deliveries = 0; deliveries < 2; deliveries++) {
    void drain(run);
    await clock.advance(SETTINGS.storeTimeout);
  }
  store.queuedCalls.next = deliver;
  void drain(run);
  await clock.advance(0);
  expect(run).not.toHaveBeenCalled();
  expect(events.filter(({ type }) => type === 'dead-lettered')).toEqual([
    {
      type: 'dead-lettered',
      lock: 'lock',
      job: 'Jobs.sync',
      instance: 'here',
      at: clock.now(),
      deliveries: 2,
      reason: 'interrupted',
    },
  ]);
});

test('a request for a queued call that arrives when its lock was given back takes none', async () => {
  await enqueue('one');
  const arrives = gate();
  const deliver = store.queuedCalls.next.bind(store.queuedCalls);
  store.queuedCalls.next = async (...asked) => {
    await arrives.opened;
    return deliver(...asked);
  };
  void drain(() => undefined);
  await clock.advance(SETTINGS.storeTimeout);
  arrives.open();
  await clock.advance(2 * SETTINGS.ttl);
  expect(await store.inspect(['lock'])).toMatchObject([{ state: 'free' }]);
  store.queuedCalls.next = deliver;
  let delivery: number | undefined;
  void drain(() => void (delivery = currentLock().queuedCall?.delivery));
  await clock.advance(0);
  expect(delivery).toBe(1);
});

test('a call that could not be queued counts as skipped by the outage', async () => {
  const put = store.queuedCalls.enqueue.bind(store.queuedCalls);
  store.queuedCalls.enqueue = () => Promise.reject(notConnected);
  for (const id of ['one', 'two']) expect(await enqueue(id)).toEqual({ error: notConnected });
  store.queuedCalls.enqueue = put;
  expect(await enqueue('three')).toMatchObject({ result: { queued: true } });
  expect(events).toMatchObject([
    { type: 'outage', phase: 'started' },
    { type: 'outage', phase: 'ended', skipped: 2 },
  ]);
});

test('a store that delivers no queued call until it is repaired is away until then, whatever else it answers', async () => {
  await enqueue('one');
  const deliver = store.queuedCalls.next.bind(store.queuedCalls);
  store.queuedCalls.next = () => Promise.reject(refused);
  for (let drains = 0; drains < 3; drains++) {
    void drain(() => undefined);
    await clock.advance(1_000);
  }
  expect(events).toMatchObject([{ type: 'outage', phase: 'started', error: refused }]);
  store.queuedCalls.next = deliver;
  void drain(() => undefined);
  await clock.advance(0);
  expect(events.filter(isEvent('outage-ended'))).toMatchObject([{ duration: 3_000 }]);
});

test('a store that takes no queued call until it is repaired is away until then, whatever else it answers', async () => {
  const put = store.queuedCalls.enqueue.bind(store.queuedCalls);
  store.queuedCalls.enqueue = () => Promise.reject(refused);
  for (const id of ['one', 'two', 'three']) {
    await enqueue(id);
    void drain(() => undefined);
    await clock.advance(1_000);
  }
  expect(events).toMatchObject([{ type: 'outage', phase: 'started', error: refused }]);
  store.queuedCalls.enqueue = put;
  await enqueue('four');
  expect(events.slice(1)).toMatchObject([{ type: 'outage', phase: 'ended', duration: 3_000, skipped: 3 }]);
});

test('a lock whose queue cannot be written is told of once, though attempts that find it taken are answered', async () => {
  await store.acquire({ name: 'lock', token: 'theirs', ttl: 60_000, holder: 'there' });
  const put = store.queuedCalls.enqueue.bind(store.queuedCalls);
  const error = new LockStateError('lock', 'somebody has locked its row');
  store.queuedCalls.enqueue = () => Promise.reject(error);
  const call = { kind: 'queueable', name: 'lock', job: 'Jobs.sync', settings: SETTINGS } as const;
  for (const id of ['one', 'two', 'three']) {
    void runner.run(call, () => undefined);
    await enqueue(id);
  }
  expect(events).toMatchObject([{ type: 'outage', phase: 'started', lock: 'lock', error }]);
  store.queuedCalls.enqueue = put;
  await enqueue('four');
  expect(events.slice(1)).toMatchObject([{ type: 'outage', phase: 'ended', lock: 'lock', skipped: 3 }]);
});

test('a lock whose queued calls cannot be asked for is given back, once', async () => {
  await enqueue('one');
  store.queuedCalls.next = () => Promise.reject(notConnected);
  const release = jest.spyOn(store, 'release');
  void drain(() => undefined);
  await clock.advance(2 * SETTINGS.ttl);
  expect(release).toHaveBeenCalledTimes(1);
  // Nothing has failed: no run has begun.
  expect(release).toHaveBeenCalledWith(expect.anything(), { outcome: 'completed', keepFor: 0 });
  expect(await store.inspect(['lock'])).toMatchObject([{ state: 'free' }]);
});

test('hints of queued calls are heard until a shutdown, from a store that sends them', async () => {
  let heard = 0;
  let tell: ((token: string) => void) | undefined;
  store.hints = (_, called) => {
    tell = called;
    return { open: true, close: () => (tell = undefined) };
  };
  runner.onQueued(() => (heard += 1));
  expect(runner.openHints()).toBe(true);
  tell?.(LOOK_FOR_QUEUED);
  expect(heard).toBe(1);
  await runner.shutdown(0);
  expect(runner.openHints()).toBe(false);
  tell?.(LOOK_FOR_QUEUED);
  expect(heard).toBe(1);
  const bare = { ...locksOnly, acquire: store.acquire, extend: store.extend, release: store.release };
  expect(new LockRunner(bare, 'here', clock, () => undefined, 2_000).openHints()).toBe(false);
});
