import { describe, expect, test } from '@jest/globals';
import type { TickedJob, TickResult } from '../../../../lib/schedule/ticks/missed-ticks.js';
import { Harness, HOUR, JOB_TTL, SPREAD, unavailable } from './support/missed-ticks-harness.js';

/** How long ago the newest tick was, ms. */
const AGE = 60_000;
/** How old a tick may be that a new leader begins, but for the ttl of its job, ms. */
const MAX_AGE = 2 * AGE;

const held = (expiresIn?: number) => ({
  ran: false as const,
  reason: 'held' as const,
  ...(expiresIn === undefined ? undefined : { expiresIn }),
});

test('a new leader of many jobs leaves room for what else is due, such as the renewal of its lease', async () => {
  const app = new Harness(AGE);
  const SEARCH = 40;
  const jobs = Array.from({ length: 50 }, () => app.job());
  for (const { schedule } of jobs) {
    const startAt = schedule?.startAt;
    // To search for the newest tick takes as long as the machine is busy.
    Object.assign(schedule ?? {}, { startAt: () => (app.clock.block(SEARCH), startAt?.(app.clock.now())) });
  }
  const renewals: number[] = [];
  const renew = (): void => {
    renewals.push(app.clock.monotonic());
    app.clock.setTimer(renew, 100);
  };
  renew();
  app.missedTicks.lead(jobs, HOUR);
  await app.clock.advance(50 * SEARCH);
  expect(app.fired).toHaveLength(jobs.length);
  const late = renewals.map((at, index) => at - (renewals[index - 1] ?? 0) - 100);
  expect(Math.max(...late)).toBeLessThanOrEqual(SEARCH);
});

test('a leader that is elected anew goes on with the jobs of its new term alone', async () => {
  const app = new Harness(AGE);
  const jobs = Array.from({ length: 3 }, () => app.job());
  for (const { schedule } of jobs) {
    const startAt = schedule?.startAt;
    Object.assign(schedule ?? {}, { startAt: () => (app.clock.block(1_000), startAt?.(app.clock.now())) });
  }
  app.missedTicks.lead(jobs, HOUR);
  app.missedTicks.lead(jobs, HOUR);
  await app.clock.advance(10_000);
  expect(app.fired).toHaveLength(1 + jobs.length);
  app.missedTicks.lead(jobs, HOUR);
  app.missedTicks.stop();
  const fired = app.fired.length;
  await app.clock.advance(10_000);
  expect(app.clock.pending).toBe(0);
  // The one that it had begun with.
  expect(app.fired.length - fired).toBeLessThanOrEqual(1);
});

test('a tick that nobody started is run if its job ran before, though it has no catchUp', async () => {
  const app = new Harness(AGE);
  await app.elect(app.job());
  expect(app.fired).toEqual([{ tick: app.tick, schedule: 'nightly', ask: 'known', only: 'known' }]);
});

test('a job whose initialDelay has passed is asked for at once', async () => {
  const app = new Harness(AGE);
  await app.elect(app.job({}, 5_000));
  expect(app.asked).toStrictEqual(['known']);
});

test('an instance that leads from its start hands nothing over before the initialDelay of the job has passed', async () => {
  const app = new Harness(AGE);
  app.state = 'stopped';
  await app.elect(app.job({}, 5_000));
  await app.clock.advance(4_999);
  expect(app.fired).toEqual([]);
  app.state = 'started';
  await app.clock.advance(1);
  expect(app.asked).toStrictEqual(['known']);
});

test('a job that is stopped before its initialDelay has passed is left alone', async () => {
  const app = new Harness(AGE);
  app.state = 'stopped';
  await app.elect(app.job({}, 5_000));
  await app.clock.advance(HOUR);
  expect(app.fired).toEqual([]);
});

test.each([
  ['is left alone', {}, []],
  ['is run if its job ran before, with catchUp', { catchUp: HOUR }, ['known']],
  ['is run if it was interrupted, with rerun', { rerun: 1 }, ['interrupted']],
])('a tick that is too old for a hand-over %s', async (_, settings, expected) => {
  const app = new Harness(AGE);
  await app.elect(app.job(settings), AGE - JOB_TTL - 1);
  expect(app.asked).toStrictEqual(expected);
});

test('the lease that the last leader has left behind on the job is waited for', async () => {
  const app = new Harness(AGE);
  const nightly = app.job();
  await app.elect(nightly);
  app.answer(nightly, held(5_000));
  await app.clock.advance(4_999);
  expect(app.fired).toHaveLength(1);
  await app.clock.advance(1 + SPREAD);
  expect(app.fired.slice(1)).toMatchObject([{ tick: app.tick, only: 'known' }]);
});

test('a run of its own earlier term is waited for, of which nobody knows when it ends', async () => {
  const app = new Harness(AGE);
  const nightly = app.job();
  await app.elect(nightly);
  app.answer(nightly, held());
  await app.clock.advance(1_000);
  expect(app.fired).toHaveLength(2);
  expect(app.fired.at(-1)).toMatchObject({ tick: app.tick, only: 'known' });
});

test('a store that is away is asked again; then for jobs that it knows alone, as it may have lost its data', async () => {
  const app = new Harness(AGE);
  const nightly = app.job({ rerun: 1, catchUp: HOUR });
  await app.elect(nightly);
  for (const wait of [1_000, 2_000, 4_000]) {
    app.answer(nightly, unavailable);
    const before = app.fired.length;
    await app.clock.advance(wait);
    expect(app.fired).toHaveLength(before + 1);
    expect(app.fired.at(-1)).toMatchObject({ tick: app.tick, only: 'known', rerun: 1 });
  }
  app.answer(nightly, { ran: true });
  expect(app.clock.pending).toBe(0);
});

test('a lease under which the tick was started is asked after once: it may be given back before the job begins', async () => {
  const app = new Harness(AGE);
  const nightly = app.job();
  const running = { ...held(5_000), tick: app.tick, finished: false };
  await app.elect(nightly);
  app.answer(nightly, running);
  await app.clock.advance(5_000 + SPREAD);
  expect(app.asked).toStrictEqual(['known', 'known']);
  app.answer(nightly, running);
  expect(app.clock.pending).toBe(0);
});

test.each([
  [MAX_AGE, ['known']],
  [MAX_AGE + JOB_TTL, ['known']],
  [MAX_AGE + JOB_TTL + 1, []],
])(
  'an age of %d ms, of at most the least catchUp and the ttl of its lock, lets a tick begin',
  async (age, asked) => {
    const app = new Harness(age);
    await app.elect(app.job(), MAX_AGE);
    expect(app.asked).toStrictEqual(asked);
  },
);

test('an instance that has lost the lead while a tick waited asks for it when it leads again', async () => {
  const app = new Harness();
  const nightly = app.job();
  await app.elect(nightly, MAX_AGE);
  app.answer(nightly, held(20_000));
  await app.clock.advance(20_000 + SPREAD);
  // It leads no more: the gate lets nothing through, and nobody answers.
  expect(app.asked).toStrictEqual(['known', 'known']);
  await app.clock.advance(MAX_AGE + JOB_TTL - 20_000 - SPREAD);
  await app.elect(nightly, MAX_AGE);
  expect(app.asked).toStrictEqual(['known', 'known', 'known']);
});

describe('a tick that comes while this instance leads', () => {
  /** Elects this instance, and lets a tick come so long after, of which the store says so. */
  async function refuse(app: Harness, of: TickedJob, result: TickResult, after = JOB_TTL): Promise<void> {
    await app.elect(of);
    app.answer(of, { ran: false, reason: 'already-ran', tick: app.tick, finished: true });
    await app.clock.advance(after);
    app.fired = [];
    come(app, of, result);
  }

  /** Fires a tick that is new. */
  function come(app: Harness, of: TickedJob, result: TickResult): void {
    app.tick = app.clock.now();
    app.come(of, result);
  }

  test('soon after the election waits for the end of a lease, which the last leader may have left behind', async () => {
    const app = new Harness(AGE);
    const nightly = app.job();
    await refuse(app, nightly, held(5_000));
    await app.clock.advance(4_999);
    expect(app.fired).toEqual([]);
    await app.clock.advance(1 + SPREAD);
    expect(app.fired).toMatchObject([{ tick: app.tick, schedule: 'nightly' }]);
    expect(app.asked).toStrictEqual([undefined]);
    // It was renewed: its job goes on there.
    app.answer(nightly, held(9_000));
    await app.clock.advance(9_000 + SPREAD);
    expect(app.fired).toHaveLength(2);
    app.answer(nightly, { ran: true });
    expect(app.clock.pending).toBe(0);
  });

  test.each<[string, number, TickResult, number]>([
    ['in the last moment at which such a lease can live', JOB_TTL, held(5_000), 1],
    ['later', JOB_TTL + 1, held(5_000), 0],
    ['later, where this process has the lock itself', JOB_TTL + 1, held(), 0],
    ['later, where the store is away', JOB_TTL + 1, unavailable, 0],
  ])('%s, waits or is skipped as any is', async (_, after, result, pending) => {
    const app = new Harness(AGE);
    await refuse(app, app.job(), result, after);
    expect(app.clock.pending).toBe(pending);
  });

  test('is skipped where no instance leads', () => {
    const app = new Harness(AGE);
    come(app, app.job(), held(5_000));
    expect(app.clock.pending).toBe(0);
  });

  test('takes the place of an older one that waits', async () => {
    const app = new Harness(AGE);
    const nightly = app.job();
    await app.elect(nightly);
    app.answer(nightly, held(5_000));
    const [older] = app.fired;
    app.fired = [];
    await app.clock.advance(2_000);
    come(app, nightly, held(3_000));
    expect(app.clock.pending).toBe(1);
    await app.clock.advance(HOUR);
    expect(app.fired).toEqual([expect.objectContaining({ tick: app.tick })]);
    expect(app.tick).toBeGreaterThan(older?.tick ?? Infinity);
  });

  test('is asked for again until the store answers, once it has waited', async () => {
    const app = new Harness(AGE);
    const nightly = app.job();
    await refuse(app, nightly, held(5_000));
    await app.clock.advance(5_000 + SPREAD);
    app.answer(nightly, unavailable);
    await app.clock.advance(1_000);
    expect(app.fired).toHaveLength(2);
    expect(app.fired.at(-1)).toMatchObject({ tick: app.tick, only: 'known' });
  });
});

describe('a tick that waits is not run any more', () => {
  test('when it is older than the age of a hand-over and the ttl of its lock', async () => {
    const app = new Harness(AGE);
    for (const late of [0, 1]) {
      app.tick = app.clock.now() - AGE;
      const nightly = app.job();
      await app.elect(nightly, MAX_AGE);
      const before = app.fired.length;
      // Held by hand, say.
      app.answer(nightly, held(AGE + JOB_TTL - SPREAD));
      await app.clock.advance(AGE + JOB_TTL - SPREAD - 1);
      expect(app.fired).toHaveLength(before);
      app.clock.setWallClock(app.clock.now() + late * (SPREAD + 1));
      await app.clock.advance(1 + SPREAD);
      expect(app.fired).toHaveLength(before + 1 - late);
      if (late === 0) app.answer(nightly, { ran: true });
      expect(app.clock.pending).toBe(0);
    }
  });

  test('when this process has its lock for longer than that, or the store is away', async () => {
    const app = new Harness(AGE);
    for (const result of [held(), unavailable]) {
      const began = app.clock.now();
      app.tick = began - AGE;
      const nightly = app.job();
      await app.elect(nightly, MAX_AGE);
      const goesOn = () => app.clock.pending > 0 || app.fired.length > 0;
      // One that is never given up fails below, instead of keeping the run.
      while (goesOn() && app.clock.now() - began < HOUR) {
        if (app.fired.length > 0) app.answer(nightly, result);
        app.fired = [];
        await app.clock.advance(1_000);
      }
      expect(app.clock.now() - began).toBeGreaterThanOrEqual(AGE);
      expect(app.clock.now() - began).toBeLessThan(AGE + JOB_TTL + 60_000);
    }
  });

  test.each([
    ['is for as long as its catchUp', { catchUp: HOUR }, 'known'],
    ['is if its run was interrupted, with rerun', { rerun: 1 }, 'interrupted'],
  ])('but %s', async (_, settings, only) => {
    const app = new Harness(AGE);
    const nightly = app.job(settings);
    await app.elect(nightly, MAX_AGE);
    app.answer(nightly, held(2 * MAX_AGE));
    await app.clock.advance(2 * MAX_AGE + SPREAD);
    expect(app.fired).toHaveLength(2);
    expect(app.fired.at(-1)).toMatchObject({ tick: app.tick, only });
  });

  test.each<[string, Partial<TickedJob['settings']>, (app: Harness) => TickResult]>([
    ['a lease', {}, () => held(5_000)],
    ['an outage', { catchUp: HOUR }, () => unavailable],
    ['its run', { rerun: 1 }, (app) => ({ ...held(5_000), tick: app.tick, finished: false })],
  ])('when its job was stopped or deleted while it waited for the end of %s', async (_, settings, result) => {
    const app = new Harness(AGE);
    for (const now of ['stopped', 'gone'] as const) {
      app.state = 'started';
      app.fired = [];
      const nightly = app.job(settings);
      await app.elect(nightly);
      app.answer(nightly, result(app));
      app.state = now;
      await app.clock.advance(10_000);
      expect(app.fired).toHaveLength(1);
      expect(app.clock.pending).toBe(0);
      app.tick = app.clock.now() - AGE;
    }
  });

  test('but is where its job was stopped all the time, and fired by hand in the scheduler; unless it was deleted', async () => {
    const app = new Harness(AGE);
    for (const now of ['stopped', 'gone'] as const) {
      const nightly = app.job({ rerun: 1 });
      app.state = 'stopped';
      app.fired = [];
      const refusal = (): TickResult => ({
        ran: false,
        reason: 'held',
        tick: app.tick,
        finished: false,
        expiresIn: 5_000,
      });
      app.come(nightly, refusal());
      await app.clock.advance(5_000 + SPREAD);
      expect(app.fired).toHaveLength(1);
      app.answer(nightly, refusal());
      app.state = now;
      await app.clock.advance(5_000 + SPREAD);
      expect(app.fired).toHaveLength(now === 'gone' ? 1 : 2);
      app.answer(nightly, { ran: true });
      app.tick = app.clock.now() - AGE;
    }
  });

  test('when a newer one came that this instance did not fire', async () => {
    const app = new Harness(AGE);
    const nightly = app.job();
    await app.elect(nightly);
    app.answer(nightly, held(5_000));
    app.tick += 1_000;
    await app.clock.advance(HOUR);
    expect(app.fired).toHaveLength(1);
    expect(app.clock.pending).toBe(0);
  });
});
