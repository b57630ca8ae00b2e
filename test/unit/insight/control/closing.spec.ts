import { beforeEach, expect, test } from '@jest/globals';
import type { Clock, Timer } from '../../../../lib/base/clock.js';
import { Control } from '../../../../lib/insight/control/control.js';
import type { PauseResult } from '../../../../lib/insight/control/types.js';
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
let closing: AbortController;
let control: Control;

beforeEach(async () => {
  clock = new Alive();
  store = new MemoryLockStore({ clock });
  closing = new AbortController();
  control = new Control(store, { clock, closing: closing.signal, instance: 'api-2' });
  await store.acquire(LEASE);
});

/** A pause that waits for the end of the run of another instance. */
async function waitingPause(): Promise<{ readonly paused: Promise<PauseResult> }> {
  let paused: Promise<PauseResult> | undefined;
  await new Promise<void>((resolve) => {
    paused = control.pause({ lock: 'invoices', ...ANNA, wait: '1h', onWaiting: () => resolve() });
  });
  return { paused: paused! };
}

test('a pause waits no longer for a run when the shutdown begins, is in force, and leaves no timer', async () => {
  const { paused } = await waitingPause();
  closing.abort();
  expect(await paused).toMatchObject({ result: 'paused', running: { holder: 'api-1' } });
  expect((await store.inspect(['invoices']))[0]?.paused).toMatchObject(ANNA);
  expect(clock.timers).toEqual(new Set());
});

test('no run is asked for during a shutdown', async () => {
  await control.pause({ lock: 'other', ...ANNA });
  closing.abort();
  expect(await control.runNow({ job: 'Others.run', throughPause: true, ...ANNA })).toEqual({
    result: 'skipped',
    reason: 'shutting-down',
  });
});
