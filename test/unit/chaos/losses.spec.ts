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
