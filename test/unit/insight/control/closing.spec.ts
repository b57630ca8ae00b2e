import { beforeEach, expect, test } from '@jest/globals';
import type { Clock, Timer } from '../../../../lib/base/clock.js';
import { Closing } from '../../../../lib/insight/control/closing.js';
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
let closing: Closing;
let control: Control;

beforeEach(async () => {
  clock = new Alive();
  store = new MemoryLockStore({ clock });
  closing = new Closing(clock);
  control = new Control(store, { clock, closing, instance: 'api-2' });
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
  closing.begin();
  expect(await paused).toMatchObject({ result: 'paused', running: { holder: 'api-1' } });
  await closing.end();
  expect((await store.inspect(['invoices']))[0]?.paused).toMatchObject(ANNA);
  expect(clock.timers).toEqual(new Set());
});

test('no run is asked for during a shutdown', async () => {
  await control.pause({ lock: 'other', ...ANNA });
  closing.begin();
  expect(await control.runNow({ job: 'Others.run', throughPause: true, ...ANNA })).toEqual({
    result: 'skipped',
    reason: 'shutting-down',
  });
});

test('a store that does not answer holds the shutdown up for five seconds', async () => {
  const { paused } = await waitingPause();
  const { inspect } = store;
  let answer: () => void = () => undefined;
  store.inspect = (...args) => new Promise((resolve) => (answer = () => resolve(inspect.apply(store, args))));
  await clock.manual.advance(250);
  const ended = closing.end();
  await clock.manual.advance(5_000);
  await ended;
  answer();
  expect(await paused).toMatchObject({ result: 'paused' });
  expect(clock.timers).toEqual(new Set());
});
