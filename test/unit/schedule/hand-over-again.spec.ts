import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JobStart } from '../../../lib/job-start.js';
import { FollowUps, type TickedJob, type TickResult } from '../../../lib/schedule/follow-ups.js';
import type { JobState } from '../../../lib/schedule/made-jobs.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const DAY = 86_400_000;
/** How old a tick may be that a new leader begins, ms. */
const MAX_AGE = 30_000;
/** Of the lock of the job, ms. */
const JOB_TTL = 10_000;
/** The longest by which those that wait for one lease are spread, ms. */
const SPREAD = 50;

let clock: ManualClock;
let followUps: FollowUps;
let tick: number;
let fired: JobStart[];
let state: JobState;

beforeEach(() => {
  state = 'started';
  clock = new ManualClock();
  followUps = new FollowUps(clock, (error) => {
    throw error;
  });
  tick = clock.now();
  fired = [];
});

function job(settings: Partial<TickedJob['settings']> = {}): TickedJob {
  return {
    schedule: { startAt: () => ({ tick, schedule: 'nightly' }), isCron: true, initialDelay: 0 },
    settings: { ttl: JOB_TTL, oncePerTick: true, maxClockSkew: 1_000, rerun: 0, catchUp: false, ...settings },
    fire: (start) => void fired.push(start),
    state: () => state,
  };
}

/** Elects this instance when the newest tick is so old. */
async function elect(of: TickedJob, age: number, uptime = DAY): Promise<void> {
  fired = [];
  clock.setWallClock(tick + age);
  followUps.lead([of], { maxAge: MAX_AGE, since: clock.monotonic() - uptime, lastLeader: 'last' });
  await clock.advance(0);
}

/** Lets the store answer so to what was fired last. */
const answer = (of: TickedJob, result: TickResult): void => followUps.ended(of, fired.at(-1) ?? {}, result);

/** By an instance that led before the last leader, and died in the middle of a run. */
const leftBehind = (expiresIn = 5_000) => ({
  ran: false as const,
  reason: 'held' as const,
  holder: 'first',
  expiresIn,
  tick: tick - DAY,
  finished: false,
});

const unavailable: TickResult = { ran: false, reason: 'store-unavailable' };
const asked = () => fired.map(({ only }) => only);

describe('a tick that is too old to be begun by a new leader, by less than the ttl of its job', () => {
  test.each([
    [MAX_AGE, [undefined]],
    [MAX_AGE + 1, ['interrupted']],
    [MAX_AGE + JOB_TTL, ['interrupted']],
    [MAX_AGE + JOB_TTL + 1, []],
  ])('is asked for once, so that it does not run where its lock is free: at %d ms', async (age, expected) => {
    const nightly = job();
    await elect(nightly, age);
    expect(asked()).toEqual(expected);
    if (expected.length > 0) answer(nightly, { ran: false, reason: 'already-ran' });
    expect(clock.pending).toBe(0);
  });

  test.each([
    ['that came while it stood by, begun', DAY, undefined],
    ['that is older than itself, begun if its job ran before', MAX_AGE, 'known'],
  ] as const)('waits for a lease that was left behind, and is then, %s', async (_, uptime, only) => {
    const nightly = job();
    await elect(nightly, MAX_AGE + 1, uptime);
    answer(nightly, leftBehind());
    await clock.advance(4_999);
    expect(asked()).toEqual(['interrupted']);
    await clock.advance(1 + SPREAD);
    expect(asked()).toEqual(['interrupted', only]);
    expect(fired[1]).toMatchObject({ tick, handOver: true });
    answer(nightly, { ran: true });
    expect(clock.pending).toBe(0);
  });

  test('is given up when that takes longer', async () => {
    const nightly = job();
    await elect(nightly, MAX_AGE + 1);
    answer(nightly, leftBehind(JOB_TTL));
    await clock.advance(JOB_TTL + SPREAD);
    expect(asked()).toEqual(['interrupted']);
    expect(clock.pending).toBe(0);
  });

  test.each<[string, () => TickResult]>([
    ['its last run has ended', () => ({ ...leftBehind(), finished: true })],
    ['its lock was taken after the election', () => leftBehind(JOB_TTL + 1)],
    ['it runs elsewhere', () => ({ ...leftBehind(), tick })],
    ['this process has its lock', () => ({ ran: false, reason: 'held' })],
  ])('is left alone if %s', async (_, result) => {
    const nightly = job();
    await elect(nightly, MAX_AGE + 1);
    answer(nightly, result());
    expect(clock.pending).toBe(0);
  });

  test('is asked for in the same way until the store answers', async () => {
    const nightly = job();
    await elect(nightly, MAX_AGE + 1);
    for (const wait of [1_000, 2_000]) {
      answer(nightly, unavailable);
      await clock.advance(wait);
    }
    expect(asked()).toEqual(['interrupted', 'interrupted', 'interrupted']);
    answer(nightly, leftBehind(2_000));
    await clock.advance(2_000 + SPREAD);
    expect(asked().slice(3)).toEqual([undefined]);
    answer(nightly, { ran: true });
    expect(clock.pending).toBe(0);
  });

  test('is not asked for again when it is too old for that, too', async () => {
    const nightly = job();
    await elect(nightly, MAX_AGE + 1);
    for (let i = 0; clock.pending > 0 || i === 0; i++) {
      answer(nightly, unavailable);
      await clock.advance(30_000);
    }
    expect(clock.now() - tick).toBeGreaterThan(MAX_AGE + JOB_TTL);
    expect(new Set(asked())).toEqual(new Set(['interrupted']));
    expect(fired.length).toBeLessThan(7);
  });

  test('is watched if it runs elsewhere, with rerun; and repeated alone, whatever is in the way then', async () => {
    const nightly = job({ rerun: 1 });
    await elect(nightly, MAX_AGE + 1);
    answer(nightly, { ...leftBehind(), tick });
    await clock.advance(5_000 + SPREAD);
    expect(asked()).toEqual(['interrupted', 'interrupted']);
    answer(nightly, leftBehind(1_000));
    await clock.advance(1_000 + SPREAD);
    expect(asked().slice(2)).not.toContain(undefined);
  });

  test('is left alone if its job is stopped meanwhile', async () => {
    const nightly = job();
    await elect(nightly, MAX_AGE + 1);
    answer(nightly, leftBehind());
    state = 'stopped';
    await clock.advance(5_000 + SPREAD);
    expect(fired).toHaveLength(1);
    state = 'stopped';
    await elect(nightly, MAX_AGE + 1);
    expect(fired).toEqual([]);
  });
});

test('an instance that has lost the lead while a tick waited asks for it when it leads again, also where its lock is free', async () => {
  for (const age of [MAX_AGE + 1, MAX_AGE + JOB_TTL + 1]) {
    const nightly = job();
    tick = clock.now();
    await elect(nightly, 1_000);
    answer(nightly, leftBehind(20_000));
    await clock.advance(20_000 + SPREAD);
    // It leads no more: the gate lets nothing through, and nobody answers.
    expect(asked()).toEqual([undefined, undefined]);
    await elect(nightly, age);
    expect(asked()).toEqual(age > MAX_AGE + JOB_TTL ? [] : [undefined]);
  }
});
