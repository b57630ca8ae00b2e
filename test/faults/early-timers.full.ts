import { UnderWay } from '../../lib/base/clock.js';
import { expect, test } from '@jest/globals';
import type { Clock, LockStore } from '../../lib/index.js';
import { Outages } from '../../lib/lock/access/outages.js';
import { Releases } from '../../lib/lock/releases.js';
import { SafeStore } from '../../lib/lock/access/safe-store.js';
import { TimeLimits } from '../../lib/lock/access/time-limits.js';
import { until } from '../support/until.js';
import { locksOnly } from '../support/locks-only.js';

/**
 * Node counts a timer from the beginning of the event loop's turn in which it was set. On a busy process that is
 * well before, and the timer fires early.
 */
class EarlyClock implements Clock {
  time = 0;
  readonly timers: { callback: () => void; at: number }[] = [];

  now = (): number => this.time;
  monotonic = (): number => this.time;

  setTimer = (callback: () => void, delay: number) => {
    const timer = { callback, at: this.time + delay };
    this.timers.push(timer);
    return {
      cancel: () => {
        const index = this.timers.indexOf(timer);
        if (index >= 0) this.timers.splice(index, 1);
      },
    };
  };

  /** Fires the next timer `early` milliseconds before it is due. */
  fire(early: number): void {
    this.timers.sort((a, b) => a.at - b.at);
    const timer = this.timers.shift();
    if (timer === undefined) throw new Error('No timer is armed');
    this.time = timer.at - early;
    timer.callback();
  }
}

test('a release that is to be tried again is not forgotten when its timer fires early', async () => {
  const clock = new EarlyClock();
  let releases = 0;
  const store: LockStore = {
    ...locksOnly,
    acquire: () => new Promise(() => undefined),
    extend: async () => [],
    // The acquire arrives after the first release.
    release: async () => (++releases === 1 ? { released: false, reason: 'expired' } : { released: true }),
  };
  const outages = new Outages('instance', clock, () => undefined);
  const limits = new TimeLimits(clock);
  const tested = new Releases(new SafeStore(store, limits), clock, outages, new UnderWay());
  const ref = { name: 'job', token: 'token', fencingToken: 0, ttl: 10_000, holder: 'instance' };
  tested.abandon(ref, 1_000, [{ listen: () => undefined }]);
  await until(() => releases === 1 && clock.timers.some(({ at }) => at > 1_000));
  // The limit of the call finds it answered; what is left is the next try.
  clock.fire(0);
  expect(clock.timers).toHaveLength(1);
  clock.fire(0.4);
  expect(releases).toBe(1);
  clock.fire(0);
  expect(releases).toBe(2);
  tested.close();
  limits.stop();
  expect(clock.timers).toEqual([]);
});
