import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

const lost = (): HandMade => new HandMade().run({ at: 10_000, token: 1, ends: 14_000, lost: 11_978 });

describe('a lease that was lost', () => {
  it('is caught if nothing was wrong', () => {
    expect(lost().check('losses').violations).toEqual([expect.stringContaining('nothing was wrong')]);
  });

  it('is explained by what hit its instance, or the store', () => {
    const paused = lost().fault('pause', 10_500, 13_000, 'instance-1').check('losses');
    expect(paused).toMatchObject({ violations: [], counts: { pause: 1 } });
    expect(lost().fault('store-restart', 10_500, 13_000).check('losses').violations).toEqual([]);
    const busy = lost().add({ k: 'stall', from: 10_100, m: 11_900, i: 'instance-1' });
    expect(busy.check('losses')).toMatchObject({ violations: [], counts: { 'busy machine': 1 } });
  });

  it.each(['cut', 'forget-scripts', 'kill'])('is not explained by a %s', (fault) => {
    expect(lost().fault(fault, 10_500, 10_600, 'instance-1').check('losses').violations).toHaveLength(1);
  });

  it('is not explained by what hit another instance, or was over long before', () => {
    expect(lost().fault('pause', 10_500, 13_000, 'instance-2').check('losses').violations).toHaveLength(1);
    expect(lost().fault('store-restart', 1_000, 2_000).check('losses').violations).toHaveLength(1);
  });
});

describe('a lease that the store says was lost', () => {
  const told = (): HandMade =>
    new HandMade()
      .run({ at: 10_000, token: 5, ends: 14_000, lost: 11_200, lostReason: 'expired' })
      .oldSnapshot(9_000, 10_900, 11_100);

  it('is caught if nobody had taken it: it was to be written back', () => {
    expect(told().check('losses').violations).toEqual([
      expect.stringContaining('lost its lease (expired), and nobody had taken it'),
    ]);
    // That came too late to be the reason.
    const after = told().run({ at: 11_300, token: 6, i: 'instance-2' }).check('losses');
    expect(after.violations).toHaveLength(1);
  });

  it.each<[string, HandMade]>([
    ['somebody had', told().run({ at: 11_150, token: 6, i: 'instance-2' })],
    [
      'somebody may have, and was not answered',
      told().skip(11_150, 'store-unavailable', { i: 'instance-2' }),
    ],
    ['somebody may have, and died', told().skip(11_150, undefined, { i: 'instance-2' })],
    [
      'an older one came back',
      told().run({ at: 8_500, token: 4, ends: 9_500, confirmed: [[8_500, 11_500]], i: 'instance-2' }),
    ],
  ])('is explained if %s', (_why, history) => {
    expect(history.check('losses').violations).toEqual([]);
  });

  it('is explained if the clock of the store was set forward, which does not explain a deadline', () => {
    const early = (lostReason: string): HandMade =>
      new HandMade()
        .run({ at: 10_000, token: 5, ends: 14_000, lost: 11_200, lostReason })
        .step(11_000, 19_000, 3_000);
    expect(early('expired').check('losses')).toMatchObject({ violations: [], counts: { 'store-clock': 1 } });
    expect(early('deadline').check('losses').violations).toHaveLength(1);
  });
});
