import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

const again = { jobs: [{ rerun: 2 }] };

describe('a history in which each tick was started once', () => {
  it('is as it should be', () => {
    const finding = new HandMade()
      .run({ at: 1_000, token: 1 })
      .run({ at: 2_000, token: 2, i: 'instance-2' })
      .check('duplicates');
    expect(finding.violations).toEqual([]);
    expect(finding.counts).toMatchObject({ 'ticks started': 2, reruns: 0 });
  });

  it('may have reruns, which are counted', () => {
    const finding = new HandMade(again)
      .run({ at: 1_000, token: 1, ends: null })
      .run({ at: 3_000, tick: 1_000, token: 2, attempt: 2, i: 'instance-2' })
      // The second attempt may have died before its first line.
      .run({ at: 9_000, tick: 8_000, token: 3, attempt: 3 })
      .check('duplicates');
    expect(finding.violations).toEqual([]);
    expect(finding.counts).toMatchObject({ 'ticks started': 2, reruns: 2 });
  });

  it('may have any number of runs without a tick', () => {
    const finding = new HandMade({ jobs: [{ kind: 'interval' }] })
      .run({ at: 1_000, tick: null, token: 1 })
      .run({ at: 2_000, tick: null, token: 2 })
      .check('duplicates');
    expect(finding).toMatchObject({ violations: [], counts: { 'runs of intervals': 2 } });
  });
});

describe('a tick that was started twice is caught', () => {
  it('on two instances, one after the other', () => {
    const { violations } = new HandMade()
      .run({ at: 1_000, token: 1 })
      .run({ at: 1_200, tick: 1_000, token: 2, i: 'instance-2' })
      .check('duplicates');
    expect(violations).toEqual([expect.stringMatching(/on instance-2\.1 .*although .*on instance-1\.1 /)]);
  });

  it('on one instance', () => {
    const bad = new HandMade().run({ at: 1_000, token: 1 }).run({ at: 1_500, tick: 1_000, token: 2 });
    expect(bad.check('duplicates').violations).toHaveLength(1);
  });

  it('with the same attempt twice', () => {
    const bad = new HandMade(again)
      .run({ at: 1_000, token: 1, ends: null })
      .run({ at: 3_000, tick: 1_000, token: 2, attempt: 2 })
      .run({ at: 3_100, tick: 1_000, token: 3, attempt: 2, i: 'instance-2' });
    expect(bad.check('duplicates').violations).toEqual([expect.stringContaining('attempt 2')]);
  });

  it('with more attempts than reruns are allowed', () => {
    const bad = new HandMade().run({ at: 3_000, tick: 1_000, token: 2, attempt: 2 });
    expect(bad.check('duplicates').violations).toEqual([expect.stringContaining('only 0 reruns')]);
  });
});

describe('after a data loss', () => {
  const twice = (at: number): HandMade =>
    new HandMade().run({ at: 1_000, token: 1 }).run({ at, tick: 1_000, token: 2, i: 'instance-2' });

  it('a second start is counted apart for as long as clocks may differ', () => {
    const finding = twice(7_900).fault('store-wipe', 2_000, 3_000).check('duplicates');
    expect(finding).toMatchObject({ violations: [], counts: { 'duplicates after a data loss': 1 } });
  });

  it('it is caught after that, and before', () => {
    expect(twice(8_100).fault('store-wipe', 2_000, 3_000).check('duplicates').violations).toHaveLength(1);
    expect(twice(1_900).fault('store-wipe', 2_000, 3_000).check('duplicates').violations).toHaveLength(1);
  });

  it('it is counted apart while `catchUp` allows it, and caught after that', () => {
    const late = (at: number): HandMade =>
      new HandMade({ jobs: [{ catchUp: 9_000 }] })
        .run({ at: 1_000, token: 1 })
        .run({ at, tick: 1_000, token: 2, i: 'instance-2' })
        .fault('store-wipe', 2_000, 3_000);
    expect(late(9_900).check('duplicates').violations).toEqual([]);
    expect(late(10_100).check('duplicates').violations).toHaveLength(1);
  });

  it('it is caught if the start was in the snapshot that came back', () => {
    expect(twice(4_000).oldSnapshot(900, 2_000, 3_000).check('duplicates').violations).toEqual([]);
    expect(twice(4_000).oldSnapshot(1_500, 2_000, 3_000).check('duplicates').violations).toHaveLength(1);
  });

  it('it is caught if the store had kept its data', () => {
    expect(twice(4_000).fault('store-restart', 2_000, 3_000).check('duplicates').violations).toHaveLength(1);
  });
});
