import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

/** One that is due each second, and was run at these times. */
function runs(...times: number[]): HandMade {
  const history = new HandMade({ jobs: [{ kind: 'interval' }], over: 20_000 });
  for (const at of times) history.run({ at, token: at, tick: null, i: `instance-${1 + (at % 2)}` });
  return history;
}

const SECONDS = Array.from({ length: 20 }, (_none, index) => index * 1_000);
const upTo = (last: number): number[] => SECONDS.filter((at) => at <= last);
const from = (first: number): number[] => SECONDS.filter((at) => at >= first);

describe('an interval', () => {
  it('is kept over the whole fleet, with its allowance', () => {
    const finding = runs(...upTo(9_000), 9_901, ...from(11_000)).check('intervals');
    expect(finding).toMatchObject({ violations: [], counts: { 'starved, times': 0 } });
  });

  it('is caught if it is run on each instance', () => {
    expect(runs(...SECONDS, 5_401).check('intervals').violations).toEqual([
      expect.stringContaining('is less than an interval (1000 ms) after'),
      expect.stringContaining('is less than an interval (1000 ms) after'),
    ]);
  });

  it('is counted apart if it comes early after a step of the clock, or a data loss', () => {
    const counts = { 'early after a step of the clock or a data loss': 2 };
    const stepped = runs(...SECONDS, 5_401)
      .step(5_200, 12_000, -4_000)
      .check('intervals');
    expect(stepped).toMatchObject({ violations: [], counts });
    const lost = runs(...SECONDS, 5_401)
      .fault('store-wipe', 5_100, 5_200)
      .check('intervals');
    expect(lost).toMatchObject({ violations: [], counts });
  });

  it('is caught if it starves, also after the clock of the store was set back', () => {
    const starved = (): HandMade => runs(...upTo(5_000), ...from(11_000));
    const violations = [expect.stringMatching(/^job was not run for \d+ ms from 50\d0 on/)];
    expect(starved().check('intervals').violations).toEqual(violations);
    expect(starved().step(5_200, 16_000, -5_000).check('intervals').violations).toEqual(violations);
    expect(runs(...upTo(9_000)).check('intervals').violations).toHaveLength(1);
  });

  it.each<[string, (history: HandMade) => HandMade]>([
    ['the store was away', (history) => history.fault('store-freeze', 5_500, 8_000)],
    [
      'each instance had something of its own',
      (history) =>
        history.fault('refuse', 5_500, 8_000, 'instance-1').fault('pause', 5_500, 8_000, 'instance-2'),
    ],
    [
      'the lock was taken',
      (history) =>
        history.run({ at: 6_000, token: 6_001, tick: null, ends: 9_500, confirmed: [[6_000, 9_600]] }),
    ],
    [
      'a holder that died may have left it behind for longer, as the clock was set back',
      (history) =>
        history
          .run({ at: 5_900, token: 5_901, tick: null, ends: null, confirmed: [[5_900, 7_800]] })
          .kill('instance-1', 6_000)
          .step(6_500, 19_000, -3_000),
    ],
  ])('does not starve if %s', (_why, harm) => {
    const finding = harm(runs(...upTo(5_000), ...from(11_000))).check('intervals');
    expect(finding.counts).toMatchObject({ 'starved, times': 0 });
  });

  it('starves if one instance was well', () => {
    const one = runs(...upTo(5_000), ...from(11_000)).fault('pause', 5_500, 8_000, 'instance-2');
    expect(one.check('intervals').violations).toHaveLength(1);
  });
});
