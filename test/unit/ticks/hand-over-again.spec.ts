import { describe, expect, test } from '@jest/globals';
import type { TickedJob, TickResult } from '../../../lib/ticks/missed-ticks.js';
import { DAY, Harness, JOB_TTL, SPREAD, unavailable } from './support/missed-ticks-harness.js';

/** How old a tick may be that a new leader begins, ms. */
const MAX_AGE = 30_000;

/** Elects this instance when the newest tick is so old. */
async function elect(app: Harness, of: TickedJob, age: number, uptime = DAY): Promise<void> {
  app.fired = [];
  app.clock.setWallClock(app.tick + age);
  await app.elect(of, uptime, MAX_AGE);
}

/** By an instance that led before the last leader, and died in the middle of a run. */
const leftBehind = (app: Harness, expiresIn?: number) => app.leftBehind('first', expiresIn);

describe('a tick that is too old to be begun by a new leader, by less than the ttl of its job', () => {
  test.each([
    [MAX_AGE, [undefined]],
    [MAX_AGE + 1, ['interrupted']],
    [MAX_AGE + JOB_TTL, ['interrupted']],
    [MAX_AGE + JOB_TTL + 1, []],
  ])('is asked for once, so that it does not run where its lock is free: at %d ms', async (age, expected) => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, age);
    expect(app.asked).toEqual(expected);
    if (expected.length > 0) app.answer(nightly, { ran: false, reason: 'already-ran' });
    expect(app.clock.pending).toBe(0);
  });

  test.each([
    ['that came while it stood by, begun', DAY, undefined],
    ['that is older than itself, begun if its job ran before', MAX_AGE, 'known'],
  ] as const)('waits for a lease that was left behind, and is then, %s', async (_, uptime, only) => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, MAX_AGE + 1, uptime);
    app.answer(nightly, leftBehind(app));
    await app.clock.advance(4_999);
    expect(app.asked).toEqual(['interrupted']);
    await app.clock.advance(1 + SPREAD);
    expect(app.asked).toEqual(['interrupted', only]);
    expect(app.fired[1]).toMatchObject({ tick: app.tick, handOver: true });
    app.answer(nightly, { ran: true });
    expect(app.clock.pending).toBe(0);
  });

  test('is given up when that takes longer', async () => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, MAX_AGE + 1);
    app.answer(nightly, leftBehind(app, JOB_TTL));
    await app.clock.advance(JOB_TTL + SPREAD);
    expect(app.asked).toEqual(['interrupted']);
    expect(app.clock.pending).toBe(0);
  });

  test.each<[string, (app: Harness) => TickResult]>([
    ['its last run has ended', (app) => ({ ...leftBehind(app), finished: true })],
    ['its lock was taken after the election', (app) => leftBehind(app, JOB_TTL + 1)],
    ['it runs elsewhere', (app) => ({ ...leftBehind(app), tick: app.tick })],
    ['this process has its lock', () => ({ ran: false, reason: 'held' })],
  ])('is left alone if %s', async (_, result) => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, MAX_AGE + 1);
    app.answer(nightly, result(app));
    expect(app.clock.pending).toBe(0);
  });

  test('is asked for in the same way until the store answers', async () => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, MAX_AGE + 1);
    for (const wait of [1_000, 2_000]) {
      app.answer(nightly, unavailable);
      await app.clock.advance(wait);
    }
    expect(app.asked).toEqual(['interrupted', 'interrupted', 'interrupted']);
    app.answer(nightly, leftBehind(app, 2_000));
    await app.clock.advance(2_000 + SPREAD);
    expect(app.asked.slice(3)).toEqual([undefined]);
    app.answer(nightly, { ran: true });
    expect(app.clock.pending).toBe(0);
  });

  test('is not asked for again when it is too old for that, too', async () => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, MAX_AGE + 1);
    // One that is never given up fails below, instead of keeping the run.
    for (let i = 0; i === 0 || (app.clock.pending > 0 && i < 10); i++) {
      app.answer(nightly, unavailable);
      await app.clock.advance(30_000);
    }
    expect(app.clock.now() - app.tick).toBeGreaterThan(MAX_AGE + JOB_TTL);
    expect(new Set(app.asked)).toEqual(new Set(['interrupted']));
    expect(app.fired.length).toBeLessThan(7);
  });

  test('is watched if it runs elsewhere, with rerun; and repeated alone, whatever is in the way then', async () => {
    const app = new Harness();
    const nightly = app.job({ rerun: 1 });
    await elect(app, nightly, MAX_AGE + 1);
    app.answer(nightly, { ...leftBehind(app), tick: app.tick });
    await app.clock.advance(5_000 + SPREAD);
    expect(app.asked).toEqual(['interrupted', 'interrupted']);
    app.answer(nightly, leftBehind(app, 1_000));
    await app.clock.advance(1_000 + SPREAD);
    expect(app.asked.slice(2)).not.toContain(undefined);
  });

  test('is left alone if its job is stopped meanwhile', async () => {
    const app = new Harness();
    const nightly = app.job();
    await elect(app, nightly, MAX_AGE + 1);
    app.answer(nightly, leftBehind(app));
    app.state = 'stopped';
    await app.clock.advance(5_000 + SPREAD);
    expect(app.fired).toHaveLength(1);
    app.state = 'stopped';
    await elect(app, nightly, MAX_AGE + 1);
    expect(app.fired).toEqual([]);
  });
});

test('an instance that has lost the lead while a tick waited asks for it when it leads again, also where its lock is free', async () => {
  const app = new Harness();
  for (const age of [MAX_AGE + 1, MAX_AGE + JOB_TTL + 1]) {
    const nightly = app.job();
    app.tick = app.clock.now();
    await elect(app, nightly, 1_000);
    app.answer(nightly, leftBehind(app, 20_000));
    await app.clock.advance(20_000 + SPREAD);
    // It leads no more: the gate lets nothing through, and nobody answers.
    expect(app.asked).toEqual([undefined, undefined]);
    await elect(app, nightly, age);
    expect(app.asked).toEqual(age > MAX_AGE + JOB_TTL ? [] : [undefined]);
  }
});
