import { beforeEach, describe, expect, test } from '@jest/globals';
import { act } from '../../../../lib/show/board/switches.js';
import { Control } from '../../../../lib/insight/control/control.js';
import { StoreUnavailableError } from '../../../../lib/base/errors.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { readPause } from '../../../../lib/contract/pause.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/* The clock of whoever uses a switch is wrong by more than the longest pause. Only the store's clock counts. */

const DAY = 86_400_000;
const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 22, 11, 20, 30);
const ANNA = { actor: 'anna', reason: 'the provider is down' } as const;

let store: MemoryLockStore;
beforeEach(() => void (store = new MemoryLockStore({ clock: new ManualClock(NOW) })));

const beat = (): Promise<unknown> =>
  store.history.beat({
    instance: 'api-1',
    startedAt: NOW,
    every: 20_000,
    catalogue: 'list',
    jobs: [],
    leads: [],
    left: false,
  });

describe.each([
  ['ahead', 33 * DAY],
  ['behind', -33 * DAY],
])('33 days %s', (_, off) => {
  let clock: ManualClock;
  let control: Control;
  beforeEach(() => {
    clock = new ManualClock(NOW + off);
    control = new Control(store, { clock, instance: 'shell' });
  });

  test.each([
    ['no lock and no instance', async () => undefined],
    ['an instance, but not the lock', beat],
  ])('a pause ends when it should where the store knows %s', async (_what, told) => {
    await told();
    const paused = await control.pause({ lock: 'invoices', for: '1h', ...ANNA });
    const until = NOW + HOUR;
    expect(paused).toMatchObject({ result: 'paused', pause: { since: NOW, until } });
    const [lock] = await store.inspect(['invoices']);
    expect(lock).toMatchObject({ expiresIn: HOUR, holder: expect.stringContaining('2026-11-22T12:20:30Z') });
    expect(await store.history.entries({ name: 'invoices', limit: 9 })).toHaveLength(1);
  });

  test('the lease that tells the time is taken for no pause, and is given back, even if its answer is lost', async () => {
    const acquire = store.acquire.bind(store);
    const shown: (string | undefined)[] = [];
    store.acquire = async (request) => {
      await acquire(request);
      const [lock] = await store.inspect(['invoices']);
      shown.push(lock?.holder);
      throw new StoreUnavailableError('The answer is lost.', { outcome: 'unknown' });
    };
    await expect(control.pause({ lock: 'invoices', for: '1h', ...ANNA })).rejects.toThrow('is lost');
    expect(shown).toEqual([expect.stringContaining('anna')]);
    expect(readPause(shown[0])).toBeUndefined();
    expect((await store.inspect(['invoices']))[0]?.state).not.toBe('held');
  });

  test('a lifted pause of a lock that the store does not show can be resumed', async () => {
    await beat();
    const until = '2026-11-22T12:20:30Z';
    const by = { action: 'resume', actor: 'bob', call: 'a run' } as const;
    await store.history.interrupted({
      name: 'invoices',
      fencingToken: NOW * 1_000,
      holder: `paused until ${until} by anna: the provider is down`,
      kept: { count: 10, age: DAY },
      by,
    });
    store.inspect = () => Promise.resolve([]);
    expect(await control.resume({ lock: 'invoices', ...ANNA })).toMatchObject({
      result: 'resumed',
      pause: { until: Date.parse(until) },
      time: NOW,
    });
  });

  test('the page tells how long a pause still lasts by the clock of the store', async () => {
    await control.pause({ lock: 'invoices', for: '1h', ...ANNA });
    await beat();
    const request = {
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      name: 'locks/break',
      body: {
        lock: 'invoices',
        reason: 'stuck',
        fencingToken: (await store.inspect(['invoices']))[0]?.fencingToken,
      },
      actor: () => 'bob',
    };
    const { body } = await act(control, clock, request);
    expect(JSON.parse(String(body))).toMatchObject({
      result: 'is-pause',
      sentence: expect.stringContaining('since 2026-11-22 11:20:30Z, for 1 h more'),
    });
  });
});
