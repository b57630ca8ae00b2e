import { beforeEach, expect, test } from '@jest/globals';
import type { Clock, Timer } from '../../../../lib/base/clock.js';
import { Closing } from '../../../../lib/insight/control/closing.js';
import { Control } from '../../../../lib/insight/control/control.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/* What is left of a switch when its application has shut down: nothing that keeps the process alive. */

const ANNA = { actor: 'anna', reason: 'the provider is down' } as const;
const LEASE = { name: 'invoices', token: 'other', ttl: 60_000, holder: 'api-1' };

/** Knows the timers that keep the process alive. */
class Alive implements Clock {
  readonly manual = new ManualClock();
  readonly timers = new Set<Timer>();
  now = (): number => this.manual.now();
  monotonic = (): number => this.manual.monotonic();

  setTimer(callback: () => void, delay: number, options?: { keepAlive?: boolean }): Timer {
    const { timers } = this;
    const pending = this.manual.setTimer(() => {
      timers.delete(timer);
      callback();
    }, delay);
    const timer = {
      cancel: () => {
        timers.delete(timer);
        pending.cancel();
      },
    };
    if (options?.keepAlive === true) timers.add(timer);
    return timer;
  }
}

let clock: Alive;
let store: MemoryLockStore;
let closing: Closing;
let control: Control;

beforeEach(async () => {
  clock = new Alive();
  store = new MemoryLockStore({ clock });
  closing = new Closing(clock);
  control = new Control(store, { clock, closing, instance: 'api-2' });
  await store.acquire(LEASE);
});

/** A pause that stands in line: how it ends. */
async function waitingPause(): Promise<{ readonly settled: Promise<PromiseSettledResult<unknown>[]> }> {
  let settled: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([]);
  await new Promise<void>((resolve) => {
    const request = { lock: 'invoices', ...ANNA, onWaiting: () => resolve() };
    settled = Promise.allSettled([control.pause(request)]);
  });
  return { settled };
}

test('a pause that waits has left the line when the shutdown goes on, and no timer is left', async () => {
  const { settled } = await waitingPause();
  await closing.begin(25_000);
  const [info] = await store.inspect(['invoices']);
  expect(info?.line).toBeUndefined();
  expect(await settled).toMatchObject([
    { status: 'rejected', reason: { code: 'LOCK_NOT_ACQUIRED', reason: 'shutting-down' } },
  ]);
  expect(clock.timers).toEqual(new Set());
});

test('no pause begins during a shutdown', async () => {
  await closing.end();
  await expect(control.pause({ lock: 'other', ...ANNA })).rejects.toMatchObject({ reason: 'shutting-down' });
  expect(clock.timers).toEqual(new Set());
});

test('no run is let through a pause during a shutdown, which nobody would put back', async () => {
  await control.pause({ lock: 'other', ...ANNA });
  await closing.begin(1_000);
  expect(await control.runNow({ job: 'Others.run', throughPause: true, ...ANNA })).toEqual({
    result: 'skipped',
    reason: 'shutting-down',
  });
  expect((await store.inspect(['other']))[0]?.holder).toContain('anna');
});

test('a store that does not answer holds the shutdown up for the given time', async () => {
  const { settled } = await waitingPause();
  const { release } = store;
  let answer: () => void = () => undefined;
  store.release = (...args) => new Promise((resolve) => (answer = () => resolve(release.apply(store, args))));
  const begun = closing.begin(1_000);
  await clock.manual.advance(1_000);
  await begun;
  expect(clock.timers).toEqual(new Set());
  answer();
  await settled;
});
