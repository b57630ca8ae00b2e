import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

const tokens = (first: number, second: number, until = 4_000): HandMade =>
  new HandMade()
    .run({ at: 1_000, token: first })
    .run({ at: 3_000, token: second, i: 'instance-2', confirmed: [[2_990, until]] });

describe('fencing tokens', () => {
  it('grow, lock by lock', () => {
    expect(tokens(1, 2).check('fencing')).toMatchObject({ violations: [], counts: { 'runs compared': 2 } });
    const two = new HandMade({ jobs: [{}, { job: 'other', lock: 'another' }] })
      .run({ at: 1_000, token: 7 })
      .run({ at: 2_000, token: 3, job: 'other' });
    expect(two.check('fencing').violations).toEqual([]);
  });

  it.each([
    ['smaller', 5, 4],
    ['the same', 5, 5],
  ])('are caught if one is %s', (_what, first, second) => {
    expect(tokens(first, second).check('fencing').violations).toHaveLength(1);
  });

  it('are caught if one is smaller than one long before', () => {
    const bad = new HandMade()
      .run({ at: 1_000, token: 9 })
      .run({ at: 2_000, token: 4 })
      .run({ at: 3_000, token: 5 });
    expect(bad.check('fencing').violations).toHaveLength(2);
  });

  it('are not compared for a run that began after its deadline', () => {
    expect(tokens(5, 4, 2_995).check('fencing').violations).toEqual([]);
  });

  it('are counted apart if the grant was on its way while the store lost its data', () => {
    const finding = tokens(5, 4).fault('store-wipe', 2_800, 2_900).check('fencing');
    expect(finding).toMatchObject({ violations: [], counts: { 'out of order around a data loss': 1 } });
    expect(tokens(5, 4).fault('store-wipe', 1_000, 1_100).check('fencing').violations).toHaveLength(1);
  });
});
