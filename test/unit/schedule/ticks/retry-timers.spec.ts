import { beforeEach, expect, jest, test } from '@jest/globals';
import { RetryTimers } from '../../../../lib/schedule/ticks/missed-ticks.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** The longest by which watchers of one lease are spread, ms; two of them must not ask at the same moment. */
const SPREAD = 50;

let clock: ManualClock;
let chances: RetryTimers;
let fired: string[];
const fire = (what: string) => (): void => void fired.push(what);

beforeEach(() => {
  clock = new ManualClock();
  chances = new RetryTimers(clock);
  fired = [];
});

test('a tick is tried again once the lease in the way can have ended, not before, and once', async () => {
  chances.afterLease('job', 1, 5_000, fire('again'));
  await clock.advance(4_999);
  expect(fired).toEqual([]);
  await clock.advance(1 + SPREAD);
  expect(fired).toEqual(['again']);
  await clock.advance(600_000);
  expect(fired).toEqual(['again']);
});

test('those that wait for one lease ask at moments that lie up to 50 ms apart', async () => {
  const random = jest.spyOn(Math, 'random').mockReturnValue(0.5);
  chances.afterLease('job', 1, 5_000, fire('again'));
  random.mockRestore();
  await clock.advance(5_024);
  expect(fired).toEqual([]);
  await clock.advance(1);
  expect(fired).toEqual(['again']);
});

test('a job has one chance: the same tick, or an older one, makes no second', async () => {
  chances.afterLease('job', 2, 5_000, fire('first'));
  chances.afterLease('job', 2, 1_000, fire('same tick'));
  chances.afterOutage('job', 1, 0, fire('older tick'));
  expect(clock.pending).toBe(1);
  await clock.advance(600_000);
  expect(fired).toEqual(['first']);
});

test('the chance of a newer tick takes the place of an older one', async () => {
  chances.afterLease('job', 1, 5_000, fire('old'));
  chances.afterLease('job', 2, 9_000, fire('new'));
  expect(clock.pending).toBe(1);
  await clock.advance(600_000);
  expect(fired).toEqual(['new']);
});

test('a newer tick that begins ends the chance of an older one, and its own begin does not', async () => {
  chances.afterLease('job', 5, 5_000, fire('again'));
  chances.supersede('job', 5);
  chances.supersede('job', 4);
  expect(clock.pending).toBe(1);
  chances.supersede('job', 6);
  expect(clock.pending).toBe(0);
  await clock.advance(600_000);
  expect(fired).toEqual([]);
});

test('jobs have chances of their own', async () => {
  chances.afterLease('one', 1, 1_000, fire('one'));
  chances.afterLease('two', 9, 2_000, fire('two'));
  chances.supersede('two', 10);
  chances.afterLease('three', 1, 3_000, fire('three'));
  await clock.advance(600_000);
  expect(fired).toEqual(['one', 'three']);
});

test('a chance that was used makes room for another one of the same tick', async () => {
  chances.afterLease('job', 1, 1_000, () => {
    fired.push('first');
    chances.afterLease('job', 1, 1_000, fire('second'));
  });
  await clock.advance(1_000 + SPREAD);
  expect(fired).toEqual(['first']);
  await clock.advance(1_000 + SPREAD);
  expect(fired).toEqual(['first', 'second']);
});

test('a store that stays away is asked after 1, 2, 4, 8, 16 and then every 30 seconds', async () => {
  const waits = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000];
  for (const [failures, wait] of waits.entries()) {
    chances.afterOutage('job', 1, failures, fire(String(failures)));
    await clock.advance(wait - 1);
    expect(fired).toHaveLength(failures);
    await clock.advance(1);
    expect(fired).toHaveLength(failures + 1);
  }
  // However long the outage lasts.
  chances.afterOutage('job', 1, 100_000, fire('late'));
  await clock.advance(30_000);
  expect(fired.at(-1)).toBe('late');
});

test('waiting for the scheduler to make its jobs gives way to any tick', async () => {
  chances.afterJobs('job', 1_000, fire('look again'));
  chances.afterLease('job', 1, 5_000, fire('tick'));
  await clock.advance(600_000);
  expect(fired).toEqual(['tick']);
});

test('nothing fires after the stop, and no timer is left, also for what comes later', async () => {
  chances.afterLease('one', 1, 1_000, fire('one'));
  chances.afterOutage('two', 1, 0, fire('two'));
  chances.stop();
  chances.afterLease('three', 1, 1_000, fire('three'));
  chances.afterJobs('four', 1_000, fire('four'));
  expect(clock.pending).toBe(0);
  await clock.advance(600_000);
  expect(fired).toEqual([]);
});
