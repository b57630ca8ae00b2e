import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Control } from '../../../../lib/insight/control/control.js';
import { Insight } from '../../../../lib/insight/insight.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import type { Retention } from '../../../../lib/contract/history-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/* How much of a history remains where somebody uses a switch who knows no options of the fleet: the shell. */

const DAY = 86_400_000;
const ANNA = { actor: 'anna', reason: 'the provider is down' } as const;
const DEFAULT: Retention = { count: 100, age: 30 * DAY };

let store: MemoryLockStore;
let control: Control;
let noted: Retention[];
let reads: number;

beforeEach(() => {
  const clock = new ManualClock();
  store = new MemoryLockStore({ clock });
  control = new Control(store, { clock, instance: 'shell' });
  noted = [];
  reads = 0;
  const { history } = store;
  const interrupted = history.interrupted.bind(history);
  jest.spyOn(history, 'interrupted').mockImplementation((entry) => {
    noted.push(entry.kept);
    return interrupted(entry);
  });
  const release = store.release.bind(store);
  jest.spyOn(store, 'release').mockImplementation((lease, options) => {
    if (options?.record !== undefined) noted.push(options.record.kept);
    return release(lease, options);
  });
  const instances = history.instances.bind(history);
  jest.spyOn(history, 'instances').mockImplementation((...args) => {
    reads++;
    return instances(...args);
  });
});

async function instance(name: string, kept?: Retention): Promise<void> {
  await store.history.beat({
    instance: name,
    startedAt: 1,
    every: 20_000,
    catalogue: 'list',
    jobs: [],
    leads: [],
    left: false,
    ...(kept !== undefined && { kept }),
  });
}

/** Uses a switch, and says what it told the store to keep. */
async function keptBy(work: Promise<unknown>): Promise<Retention[]> {
  noted = [];
  reads = 0;
  await work;
  expect(reads).toBeLessThanOrEqual(1);
  expect(noted).not.toEqual([]);
  return noted;
}

async function deadLetter(): Promise<void> {
  const call = {
    name: 'orders',
    id: 'one',
    job: 'Orders.send',
    args: '[]',
    priority: 0,
    max: 10,
    redeliver: 0,
  };
  await store.queuedCalls.enqueue(call);
  const lease = { name: 'orders', token: 'token', ttl: 60_000, holder: 'api-1' };
  const grant = await store.acquire(lease);
  if (!grant.acquired) throw new Error('it is taken');
  const held = { ...lease, fencingToken: grant.fencingToken };
  const next = await store.queuedCalls.next(held, { takes: [{ job: 'Orders.send', ttl: 60_000 }] });
  const { fencingToken } = next as { fencingToken: number };
  await store.release({ ...held, fencingToken, queuedCall: 'one' }, { outcome: 'failed' });
}

async function taken(): Promise<number> {
  const grant = await store.acquire({ name: 'invoices', token: 'other', ttl: 60_000, holder: 'api-1' });
  if (!grant.acquired) throw new Error('it is taken');
  return grant.fencingToken;
}

describe('each switch keeps of a history as much as the instance that keeps the most', () => {
  const MOST: Retention = { count: 1_000, age: 90 * DAY };
  beforeEach(async () => {
    await instance('api-1', { count: 1_000, age: 7 * DAY });
    await instance('api-2', { count: 10, age: 90 * DAY });
    await instance('api-3');
  });

  test('pause and resume', async () => {
    expect(new Set(await keptBy(control.pause({ lock: 'invoices', ...ANNA })))).toEqual(new Set([MOST]));
    expect(new Set(await keptBy(control.resume({ lock: 'invoices', ...ANNA })))).toEqual(new Set([MOST]));
  });

  test('break', async () => {
    const fencingToken = await taken();
    expect(await keptBy(control.break({ lock: 'invoices', fencingToken, ...ANNA }))).toEqual([MOST]);
  });

  test('redeliver', async () => {
    await deadLetter();
    expect(await keptBy(control.redeliver({ lock: 'orders', ...ANNA }))).toEqual([MOST]);
  });

  test('what an instance says that came meanwhile counts the next time', async () => {
    await keptBy(control.pause({ lock: 'invoices', ...ANNA }));
    await control.resume({ lock: 'invoices', ...ANNA });
    await instance('api-4', { count: 2_000, age: DAY });
    await deadLetter();
    expect(await keptBy(control.redeliver({ lock: 'orders', ...ANNA }))).toEqual([
      { count: 2_000, age: 90 * DAY },
    ]);
  });
});

test('it is never less than the default', async () => {
  await instance('api-1', { count: 10, age: DAY });
  expect(new Set(await keptBy(control.pause({ lock: 'invoices', ...ANNA })))).toEqual(new Set([DEFAULT]));
});

test('a list of instances that cannot be read keeps nobody from ending a lease', async () => {
  const fencingToken = await taken();
  jest.spyOn(store.history, 'instances').mockRejectedValue(new Error('it may not be read'));
  const inspect = store.inspect.bind(store);
  store.inspect = async (names) => (await inspect(names)).map((info) => ({ ...info, job: 'Invoices.send' }));
  expect(await control.break({ lock: 'invoices', fencingToken, ...ANNA })).toMatchObject({
    result: 'broken',
  });
});

test('an application keeps as much as its option says, and no less than others do', async () => {
  const clock = new ManualClock();
  control = new Control(store, { clock, instance: 'api-2', kept: { count: 7, age: 60 * DAY } });
  await instance('api-1', { count: 50, age: DAY });
  expect(new Set(await keptBy(control.pause({ lock: 'invoices', ...ANNA })))).toEqual(
    new Set([{ count: 50, age: 60 * DAY }]),
  );
});

test('a name of 200 characters is that of a person as any other, and on record as a whole; a longer one is none', async () => {
  const actor = `anna.${'x'.repeat(191)}@b.c`;
  expect(actor).toHaveLength(200);
  const job = { job: 'a', lock: 'a', kind: 'hand', enabled: true, overdue: false } as const;
  const beat = { every: 20_000, catalogue: 'list', jobs: [job], leads: [], left: false };
  await store.history.beat({ ...beat, instance: 'api-1', startedAt: 1 });
  expect(await control.pause({ lock: 'a', reason: 'x', actor })).toMatchObject({ result: 'paused' });
  expect(await control.resume({ lock: 'a', actor })).toMatchObject({ result: 'resumed' });
  const acts = (await new Insight(store).controls({ job: 'a' })).map((each) => [each.action, each.actor]);
  expect(acts).toEqual([
    ['resume', actor],
    ['pause', actor],
  ]);
  await expect(control.resume({ lock: 'a', actor: `${actor}x` })).rejects.toThrow(/1 to 200 characters/);
});
