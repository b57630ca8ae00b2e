import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

const ofLife = { i: 'instance-2', n: 1, lock: 'lock' } as const;
/** Paused from 2,000 on, and resumed at 5,000. */
const paused = (): HandMade =>
  new HandMade().add(
    { k: 'paused', m: 2_000, ...ofLife, token: 7, lasts: 20_000 },
    { k: 'resuming', m: 5_000, ...ofLife },
  );
const broken = (until: number): HandMade =>
  new HandMade()
    .run({
      at: 1_000,
      token: 1,
      ends: 4_000,
      confirmed: [
        [1_000, 2_978],
        [1_600, until],
      ],
    })
    .add({ k: 'broken', m: 2_000, ...ofLife, token: 1 });

describe('a paused lock', () => {
  it('has no run', () => {
    const { violations } = paused().run({ at: 3_000, token: 8 }).check('switches');
    expect(violations).toEqual([expect.stringMatching(/started at 3000.* was paused from 2000 to 5000/)]);
  });

  it.each([
    ['before', { at: 1_500, ends: 1_990 }],
    ['before, which goes on', { at: 1_500, ends: 4_500 }],
    ['after', { at: 5_001 }],
  ])('may have a run %s', (_when, run) => {
    const finding = paused()
      .run({ token: 8, ...run })
      .check('switches');
    expect(finding).toMatchObject({ violations: [], counts: { pauses: 1 } });
  });

  it('may have one when its pause is over by itself', () => {
    const alone = new HandMade().add({ k: 'paused', m: 2_000, ...ofLife, token: 7, lasts: 8_000 });
    expect(alone.run({ at: 10_001, token: 8 }).check('switches').violations).toEqual([]);
  });

  it('is not judged if the store has lost its data', () => {
    const finding = paused().fault('store-wipe', 2_500, 2_600).run({ at: 3_000, token: 8 }).check('switches');
    expect(finding).toMatchObject({ violations: [], counts: { pauses: 0, 'not judged': 1 } });
  });
});

describe('a broken lease', () => {
  it('is not confirmed for longer than what was sent before', () => {
    expect(broken(4_100).check('switches').violations).toEqual([
      expect.stringContaining('was confirmed until 4100, though its lease was ended at 2000'),
    ]);
    expect(broken(3_990).check('switches')).toMatchObject({ violations: [], counts: { 'broken leases': 1 } });
  });

  it('explains that it was lost', () => {
    const lost = (): HandMade =>
      new HandMade()
        .fault('switch-break', 2_000, 3_500)
        .run({ at: 1_000, token: 1, ends: 4_000, lost: 2_400, lostReason: 'expired' });
    const broken = { k: 'broken', m: 2_050, ...ofLife, token: 1 } as const;
    expect(lost().add(broken).check('losses').violations).toEqual([]);
    expect(
      lost()
        .add({ ...broken, k: 'breaking' })
        .check('losses').violations,
    ).toEqual([]);
    for (const line of [
      { ...broken, token: 3 },
      { ...broken, lock: 'other' },
      { ...broken, m: 2_500 },
    ])
      expect(
        lost()
          .add({ ...line, k: 'breaking' })
          .check('losses').violations,
      ).toHaveLength(1);
  });
});
