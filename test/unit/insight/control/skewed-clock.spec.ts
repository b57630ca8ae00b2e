import { beforeEach, describe, expect, test } from '@jest/globals';
import { told } from '../../../../lib/insight/control/told.js';
import { timesIn } from '../../../../lib/insight/times.js';
import { Control } from '../../../../lib/insight/control/control.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
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
    expect(lock).toMatchObject({ state: 'free', paused: { ...ANNA, since: NOW, until } });
    expect(await store.history.entries({ name: 'invoices', limit: 9 })).toHaveLength(1);
  });

  test('it is told by the clock of the store how long a pause still lasts', async () => {
    await control.pause({ lock: 'invoices', for: '1h', ...ANNA });
    await beat();
    const again = await control.pause({ lock: 'invoices', ...ANNA });
    expect(again.result).toBe('paused-already');
    expect(told(again, timesIn()).sentence).toContain('since 2026-11-22 11:20:30Z, for 1 h more');
  });
});
