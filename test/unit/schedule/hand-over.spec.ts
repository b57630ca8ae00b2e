import { beforeEach, expect, test } from '@jest/globals';
import type { JobStart } from '../../../lib/job-start.js';
import { FollowUps, type TickedJob, type TickResult } from '../../../lib/schedule/follow-ups.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const HOUR = 3_600_000;
/** How long ago the newest tick was, ms. */
const AGE = 60_000;
/** The longest by which those that wait for one lease are spread, ms. */
const SPREAD = 50;

let clock: ManualClock;
let followUps: FollowUps;
let tick: number;
let fired: JobStart[];

beforeEach(() => {
  clock = new ManualClock();
  followUps = new FollowUps(clock, (error) => {
    throw error;
  });
  tick = clock.now() - AGE;
  fired = [];
});

/** A job whose newest tick was a minute ago; `fired` has what it is fired for. */
function job(settings: Partial<TickedJob['settings']> = {}, initialDelay = 0): TickedJob {
  return {
    schedule: { startAt: () => ({ tick, schedule: 'nightly' }), isCron: true, initialDelay },
    settings: { ttl: 10_000, oncePerTick: true, maxClockSkew: 1_000, rerun: 0, catchUp: false, ...settings },
    fire: (start) => void fired.push(start),
    isStopped: () => false,
  };
}

/** Elects this instance, which has been up for so long. */
async function elect(of: TickedJob, uptime: number, maxAge = HOUR): Promise<void> {
  followUps.lead([of], { maxAge, since: clock.monotonic() - uptime });
  await clock.advance(0);
}

/** Lets the store answer so to what was fired last. */
const answer = (of: TickedJob, result: TickResult): void => followUps.ended(of, fired.at(-1) ?? {}, result);

const unavailable: TickResult = { ran: false, reason: 'store-unavailable' };
const held = (expiresIn?: number): TickResult => ({
  ran: false,
  reason: 'held',
  ...(expiresIn === undefined ? undefined : { expiresIn }),
});

test('a tick that came before this instance was up is run if its job ran before, though it has no catchUp', async () => {
  await elect(job(), AGE);
  expect(fired).toEqual([{ tick, schedule: 'nightly', maxClockSkew: 1_000, only: 'known', handOver: true }]);
});

test('a tick that came while this instance stood by is run also if its job never ran', async () => {
  await elect(job(), AGE + 1);
  expect(fired).toEqual([{ tick, schedule: 'nightly', maxClockSkew: 1_000, handOver: true }]);
});

test('what was up is judged by how long ago it was, also where the clock has been set since', async () => {
  const since = clock.monotonic();
  await clock.advance(AGE);
  clock.setWallClock(clock.now() + HOUR);
  tick = clock.now() - AGE / 2;
  followUps.lead([job()], { maxAge: HOUR, since });
  tick = clock.now() - 2 * AGE;
  followUps.lead([job()], { maxAge: HOUR, since });
  await clock.advance(0);
  expect(fired.map(({ only }) => only)).toEqual([undefined, 'known']);
});

test('a tick that the scheduler would not have fired, by the initialDelay of its job, does not begin a job', async () => {
  await elect(job({}, 5_000), AGE + 5_000);
  await elect(job({}, 5_000), AGE + 5_001);
  expect(fired.map(({ only }) => only)).toEqual(['known', undefined]);
});

test('an instance that leads from its start hands nothing over before the initialDelay of the job has passed', async () => {
  await elect(job({}, 5_000), 2_000);
  expect(fired).toEqual([]);
  await clock.advance(2_999);
  expect(fired).toEqual([]);
  await clock.advance(1);
  expect(fired.map(({ only }) => only)).toEqual(['known']);
});

test.each([
  ['is left alone', {}, []],
  ['is run if its job ran before, with catchUp', { catchUp: HOUR }, ['known']],
  ['is run if it was interrupted, with rerun', { rerun: 1 }, ['interrupted']],
])('a tick that is too old for a hand-over %s', async (_, settings, expected) => {
  await elect(job(settings), 2 * AGE, AGE - 1);
  expect(fired.map(({ only }) => only)).toEqual(expected);
});

test('the lease that the last leader has left behind on the job is waited for', async () => {
  for (const [uptime, only] of [
    [AGE, 'known'],
    [AGE + 1, undefined],
  ] as const) {
    tick = clock.now() - AGE;
    const nightly = job();
    await elect(nightly, uptime);
    answer(nightly, held(5_000));
    const before = fired.length;
    await clock.advance(4_999);
    expect(fired).toHaveLength(before);
    await clock.advance(1 + SPREAD);
    expect(fired.slice(before)).toMatchObject([{ tick, handOver: true }]);
    expect(fired.at(-1)?.only).toBe(only);
  }
});

test('a run of its own earlier term is waited for, of which nobody knows when it ends', async () => {
  const nightly = job();
  await elect(nightly, AGE);
  answer(nightly, held());
  await clock.advance(1_000);
  expect(fired).toHaveLength(2);
  expect(fired.at(-1)).toMatchObject({ tick, only: 'known', handOver: true });
});

test('a store that is away is asked again, for a job that never ran as for any other', async () => {
  for (const [uptime, only] of [
    [AGE, 'known'],
    [AGE + 1, undefined],
  ] as const) {
    tick = clock.now() - AGE;
    const nightly = job({ rerun: 1, catchUp: HOUR });
    await elect(nightly, uptime);
    for (const wait of [1_000, 2_000, 4_000]) {
      answer(nightly, unavailable);
      const before = fired.length;
      await clock.advance(wait);
      expect(fired).toHaveLength(before + 1);
      expect(fired.at(-1)).toMatchObject({ tick, handOver: true, rerun: 1 });
      expect(fired.at(-1)?.only).toBe(only);
    }
    answer(nightly, { ran: true });
    expect(clock.pending).toBe(0);
  }
});

test('a lease under which the tick was started is not waited for', async () => {
  const nightly = job();
  await elect(nightly, AGE);
  answer(nightly, { ran: false, reason: 'held', tick, finished: false, expiresIn: 5_000 });
  expect(clock.pending).toBe(0);
});
