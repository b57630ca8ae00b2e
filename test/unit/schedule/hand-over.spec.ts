import { beforeEach, describe, expect, test } from '@jest/globals';
import type { JobStart } from '../../../lib/job-start.js';
import { FollowUps, type TickedJob, type TickResult } from '../../../lib/schedule/follow-ups.js';
import type { JobState } from '../../../lib/schedule/made-jobs.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** How long ago the newest tick was, ms. */
const AGE = 60_000;
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
  tick = clock.now() - AGE;
  fired = [];
});

/** A job whose newest tick was a minute ago; `fired` has what it is fired for. */
function job(settings: Partial<TickedJob['settings']> = {}, initialDelay = 0): TickedJob {
  return {
    schedule: { startAt: () => ({ tick, schedule: 'nightly' }), isCron: true, initialDelay },
    settings: { ttl: JOB_TTL, oncePerTick: true, maxClockSkew: 1_000, rerun: 0, catchUp: false, ...settings },
    fire: (start) => void fired.push(start),
    state: () => state,
  };
}

/** Elects this instance, which has been up for so long. */
async function elect(of: TickedJob, uptime: number, maxAge = HOUR): Promise<void> {
  followUps.lead([of], { maxAge, since: clock.monotonic() - uptime, lastLeader: 'last' });
  await clock.advance(0);
}

/** Lets the store answer so to what was fired last. */
const answer = (of: TickedJob, result: TickResult): void => followUps.ended(of, fired.at(-1) ?? {}, result);

const unavailable: TickResult = { ran: false, reason: 'store-unavailable' };
const held = (expiresIn?: number) => ({
  ran: false as const,
  reason: 'held' as const,
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

test('a job that is stopped before its initialDelay has passed is left alone', async () => {
  await elect(job({}, 5_000), 2_000);
  state = 'stopped';
  await clock.advance(HOUR);
  expect(fired).toEqual([]);
});

test.each([
  ['is left alone', {}, []],
  ['is run if its job ran before, with catchUp', { catchUp: HOUR }, ['known']],
  ['is run if it was interrupted, with rerun', { rerun: 1 }, ['interrupted']],
])('a tick that is too old for a hand-over %s', async (_, settings, expected) => {
  await elect(job(settings), 2 * AGE, AGE - JOB_TTL - 1);
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

describe('a tick that comes while this instance leads', () => {
  /** What the store says where the last leader has died in the middle of a run. */
  const leftBehind = (expiresIn = 5_000): TickResult => ({
    ...held(expiresIn),
    holder: 'last',
    tick: tick - DAY,
    finished: false,
  });

  /** Elects this instance, and lets the next tick come, of which the store says so. */
  async function refuse(of: TickedJob, result: TickResult, after = AGE): Promise<void> {
    await elect(of, 2 * AGE);
    answer(of, { ran: false, reason: 'already-ran', tick, finished: true });
    await clock.advance(after);
    fired = [];
    come(of, result);
  }

  /** Fires the newest tick as the scheduler does. */
  function come(of: TickedJob, result: TickResult): void {
    tick = clock.now();
    followUps.ended(of, followUps.begin(of, undefined) ?? {}, result);
  }

  test('waits for the end of a lease of the last leader, where no end is known of the last run of its job', async () => {
    const nightly = job();
    await refuse(nightly, leftBehind());
    await clock.advance(4_999);
    expect(fired).toEqual([]);
    await clock.advance(1 + SPREAD);
    expect(fired).toMatchObject([{ tick, schedule: 'nightly', maxClockSkew: 1_000, handOver: true }]);
    expect(fired[0]?.only).toBeUndefined();
    // It was renewed: its job goes on there.
    answer(nightly, leftBehind(9_000));
    await clock.advance(9_000 + SPREAD);
    expect(fired).toHaveLength(2);
    answer(nightly, { ran: true });
    expect(clock.pending).toBe(0);
  });

  const NEVER_ENDED = { finished: false };
  test.each<[string, string | undefined, number, { finished?: boolean }, boolean]>([
    ['waits for the end of any lease that the last leader had before the election', 'last', 3_000, {}, true],
    ['is skipped if the last leader has taken it since', 'last', 2_999, {}, false],
    ['is skipped if another instance has it', 'other', 3_000, {}, false],
    [
      'waits where no end is known of the last run, for any lease from before the election',
      'other',
      3_000,
      NEVER_ENDED,
      true,
    ],
    [
      'is skipped if another has taken it since, also where no end is known of the last run',
      'other',
      2_999,
      NEVER_ENDED,
      false,
    ],
    ['is skipped if nobody knows who has it', undefined, 3_000, NEVER_ENDED, false],
  ])('%s', async (_, holder, since, more, waits) => {
    const nightly = job();
    const by = holder === undefined ? {} : { holder };
    for (const result of [{ tick: tick - DAY, finished: true }, {}]) {
      await refuse(nightly, { ...held(JOB_TTL - since), ...by, ...result, ...more }, 3_000);
      expect(clock.pending).toBe(waits ? 1 : 0);
    }
  });

  test('is skipped where this process has the lock itself, as any is', async () => {
    await refuse(job(), held());
    expect(clock.pending).toBe(0);
  });

  test('is skipped where no instance leads', () => {
    come(job(), leftBehind());
    expect(clock.pending).toBe(0);
  });

  test('takes the place of an older one that waits', async () => {
    const nightly = job();
    await elect(nightly, 2 * AGE);
    answer(nightly, leftBehind());
    const [older] = fired;
    fired = [];
    await clock.advance(2_000);
    come(nightly, leftBehind(3_000));
    expect(clock.pending).toBe(1);
    await clock.advance(HOUR);
    expect(fired).toEqual([expect.objectContaining({ tick })]);
    expect(tick).toBeGreaterThan(older?.tick ?? Infinity);
  });

  test('is asked for again until the store answers, once it has waited', async () => {
    const nightly = job();
    await refuse(nightly, leftBehind());
    await clock.advance(5_000 + SPREAD);
    answer(nightly, unavailable);
    await clock.advance(1_000);
    expect(fired).toHaveLength(2);
    expect(fired.at(-1)).toMatchObject({ tick, handOver: true });
    expect(fired.at(-1)?.only).toBeUndefined();
  });

  test('is missed as any is if the store is away when it comes', async () => {
    await refuse(job(), unavailable);
    expect(clock.pending).toBe(0);
  });
});

describe('a tick that waits is not run any more', () => {
  const MAX_AGE = 2 * AGE;

  test('when it is older than the age of a hand-over and the ttl of its lock', async () => {
    for (const late of [0, 1]) {
      tick = clock.now() - AGE;
      const nightly = job();
      await elect(nightly, AGE, MAX_AGE);
      const before = fired.length;
      // Held by hand, say.
      answer(nightly, held(AGE + JOB_TTL - SPREAD));
      await clock.advance(AGE + JOB_TTL - SPREAD - 1);
      expect(fired).toHaveLength(before);
      clock.setWallClock(clock.now() + late * (SPREAD + 1));
      await clock.advance(1 + SPREAD);
      expect(fired).toHaveLength(before + 1 - late);
      if (late === 0) answer(nightly, { ran: true });
      expect(clock.pending).toBe(0);
    }
  });

  test('when this process has its lock for longer than that, or the store is away', async () => {
    for (const result of [held(), unavailable]) {
      const began = clock.now();
      tick = began - AGE;
      const nightly = job();
      await elect(nightly, AGE, MAX_AGE);
      while (clock.pending > 0 || fired.length > 0) {
        if (fired.length > 0) answer(nightly, result);
        fired = [];
        await clock.advance(1_000);
      }
      expect(clock.now() - began).toBeGreaterThanOrEqual(AGE);
      expect(clock.now() - began).toBeLessThan(AGE + JOB_TTL + 60_000);
    }
  });

  test.each([
    ['is for as long as its catchUp', { catchUp: HOUR }, 'known'],
    ['is if its run was interrupted, with rerun', { rerun: 1 }, 'interrupted'],
  ])('but %s', async (_, settings, only) => {
    const nightly = job(settings);
    await elect(nightly, AGE, MAX_AGE);
    answer(nightly, held(2 * MAX_AGE));
    await clock.advance(2 * MAX_AGE + SPREAD);
    expect(fired).toHaveLength(2);
    expect(fired.at(-1)).toMatchObject({ tick, only });
  });

  test.each<[string, Partial<TickedJob['settings']>, () => TickResult]>([
    ['a lease', {}, () => held(5_000)],
    ['an outage', { catchUp: HOUR }, () => unavailable],
    ['its run', { rerun: 1 }, () => ({ ...held(5_000), tick, finished: false })],
  ])('when its job was stopped or deleted while it waited for the end of %s', async (_, settings, result) => {
    for (const now of ['stopped', 'gone'] as const) {
      state = 'started';
      fired = [];
      const nightly = job(settings);
      await elect(nightly, AGE);
      answer(nightly, result());
      state = now;
      await clock.advance(10_000);
      expect(fired).toHaveLength(1);
      expect(clock.pending).toBe(0);
      tick = clock.now() - AGE;
    }
  });

  test('but is where its job was stopped all the time, and fired by hand in the scheduler; unless it was deleted', async () => {
    for (const now of ['stopped', 'gone'] as const) {
      const nightly = job({ rerun: 1 });
      state = 'stopped';
      fired = [];
      const refusal = (): TickResult => ({
        ran: false,
        reason: 'held',
        tick,
        finished: false,
        expiresIn: 5_000,
      });
      followUps.ended(nightly, followUps.begin(nightly, undefined) ?? {}, refusal());
      await clock.advance(5_000 + SPREAD);
      expect(fired).toHaveLength(1);
      answer(nightly, refusal());
      state = now;
      await clock.advance(5_000 + SPREAD);
      expect(fired).toHaveLength(now === 'gone' ? 1 : 2);
      answer(nightly, { ran: true });
      tick = clock.now() - AGE;
    }
  });

  test('when a newer one came that this instance did not fire', async () => {
    const nightly = job();
    await elect(nightly, AGE);
    answer(nightly, held(5_000));
    tick += 1_000;
    await clock.advance(HOUR);
    expect(fired).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });
});
