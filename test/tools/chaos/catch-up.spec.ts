import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

/** The tick that nobody runs, and the others that are judged. */
const TICK = 30_000;
const OTHERS = [0, 15_000, 45_000];

/** Two jobs with the same ticks under one lock; the first one is run at each, the other one at the ticks in `ran`. */
function twins(ran: readonly number[] = OTHERS): HandMade {
  const times = { every: 15_000, ttl: 1_500, catchUp: 14_000 };
  const history = new HandMade({ jobs: [times, { ...times, job: 'twin' }] });
  for (const at of [...OTHERS, TICK]) {
    const confirmed = [[at, at + 3_000]] as const;
    history.run({ at, token: at, ends: at + 2_000, confirmed });
    if (ran.includes(at))
      history.run({ job: 'twin', at: at + 2_100, tick: at, token: at + 1, i: 'instance-2' });
  }
  return history;
}

const refused = (reason: string, i = 'instance-2'): HandMade =>
  twins().skip(TICK + 100, reason, { job: 'twin', i });

describe('a tick that nobody ran though it could be caught up with is caught', () => {
  it.each(['held', 'cooling-down'])('if it was refused as %s, and the lock came free', (reason) => {
    expect(refused(reason).check('catch-up').violations).toEqual([
      expect.stringMatching(
        /^nobody ran tick .* of twin, though instance-2\.1 \(.*\) could have from 32000 /,
      ),
    ]);
  });

  it.each([
    ['the store was away', undefined],
    ['it was cut off', 'instance-2'],
  ])('if %s, and that was over in time', (_why, whom) => {
    const bad = refused('store-unavailable').fault('lose-then-partition', TICK - 200, TICK + 5_000, whom);
    expect(bad.check('catch-up').violations).toHaveLength(1);
  });

  it('also if its job has never run', () => {
    const bad = twins([]).skip(TICK + 100, 'held', { job: 'twin', i: 'instance-2' });
    expect(bad.check('catch-up').violations).toEqual([expect.stringContaining('instance-2.1 (held) could')]);
  });

  it('if an instance started meanwhile', () => {
    const bad = twins().kill('instance-2', 25_000, TICK + 3_000);
    expect(bad.check('catch-up').violations).toEqual([expect.stringContaining('started meanwhile')]);
  });
});

describe('a tick that nobody ran is no violation', () => {
  it.each<[string, HandMade]>([
    ['nobody asked for it, or was told that it ran', refused('already-ran')],
    ['what was wrong lasted for too long', refused('held').fault('store-freeze', TICK + 100, TICK + 11_000)],
    [
      'who asked was not well for long enough',
      refused('held').fault('pause', TICK + 4_000, TICK + 11_000, 'instance-2'),
    ],
    [
      'the lock was taken for as long',
      refused('held').run({
        at: TICK + 2_100,
        tick: null,
        token: 99,
        ends: TICK + 11_000,
        confirmed: [[TICK + 2_100, TICK + 12_000]],
      }),
    ],
  ])('if %s', (_why, history) => {
    const finding = history.check('catch-up');
    expect(finding).toMatchObject({ violations: [], counts: { 'not run, nobody could': 1 } });
  });

  it.each<[string, HandMade]>([
    ['who asked has died', refused('held').kill('instance-2', TICK + 1_000)],
    [
      'its job has never run, and the store was away',
      twins([])
        .fault('lose-then-partition', TICK - 200, TICK + 5_000)
        .skip(TICK + 100, 'store-unavailable', { job: 'twin', i: 'instance-2' }),
    ],
    [
      'its job has never run, and the store was away when it asked again',
      twins([])
        .skip(TICK + 100, 'held', { job: 'twin', i: 'instance-2' })
        .fault('lose-then-partition', TICK + 1_000, TICK + 5_000)
        .skip(TICK + 1_500, 'store-unavailable', { job: 'twin', i: 'instance-2' }),
    ],
    ['its job has never run, and nobody asked', twins([]).kill('instance-2', 25_000, TICK + 3_000)],
    ['the store has forgotten whether it ever ran', refused('held').fault('store-wipe', 20_000, 20_100)],
  ])('and not judged if %s', (_why, history) => {
    const finding = history.check('catch-up');
    expect(finding).toMatchObject({ violations: [], counts: { 'not judged': expect.any(Number) } });
    expect(finding.counts['not judged']).toBeGreaterThan(0);
  });

  it('but counted as run late where it was', () => {
    const good = refused('held').run({
      job: 'twin',
      at: TICK + 4_000,
      tick: TICK,
      token: 77,
      i: 'instance-2',
    });
    const { counts, violations } = good.check('catch-up');
    expect(violations).toEqual([]);
    expect(counts).toMatchObject({ 'not run, nobody could': 0, 'run late by over a second': 3 });
  });
});
