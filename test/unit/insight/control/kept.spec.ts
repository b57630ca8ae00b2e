import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Control } from '../../../../lib/insight/control/control.js';
import { Insight } from '../../../../lib/insight/insight.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import type { Retention } from '../../../../lib/contract/history-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/* How much of a history remains where somebody uses a switch who knows no options of the fleet. */

const DAY = 86_400_000;
const ANNA = { actor: 'anna', reason: 'the provider is down' } as const;
/** As many as one instance may keep. */
const MOST: Retention = { count: 10_000, age: 30 * DAY };

let store: MemoryLockStore;
let control: Control;

beforeEach(() => {
  const clock = new ManualClock();
  store = new MemoryLockStore({ clock });
  control = new Control(store, { clock, instance: 'shell' });
});

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

describe('more runs than an instance keeps by default remain', () => {
  const FAILED = 120;
  const failures = async (name: string): Promise<number> => {
    const entries = await store.history.entries({ name, limit: 10 * FAILED });
    return entries.filter((entry) => entry.type === 'run' && entry.by === undefined).length;
  };
  const fail = async (name: string): Promise<void> => {
    for (let n = 1; n <= FAILED; n++)
      await store.history.interrupted({ name, fencingToken: n, holder: 'api-1', kept: MOST });
    expect(await failures(name)).toBe(FAILED);
  };

  test('with a pause and its end', async () => {
    await fail('invoices');
    await control.pause({ lock: 'invoices', ...ANNA });
    await control.resume({ lock: 'invoices', ...ANNA });
    expect(await failures('invoices')).toBe(FAILED);
  });

  test('with a break', async () => {
    await fail('invoices');
    await control.break({ lock: 'invoices', fencingToken: await taken(), ...ANNA });
    expect(await failures('invoices')).toBe(FAILED);
  });

  test('with dead letters that are put back', async () => {
    await deadLetter();
    await fail('orders');
    await control.redeliver({ lock: 'orders', ...ANNA });
    expect(await failures('orders')).toBe(FAILED);
  });
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
