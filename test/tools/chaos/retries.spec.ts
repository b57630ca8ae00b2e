import { expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

const flaky = { jobs: [{ every: 10_000, retry: { attempts: 3, delay: 1_000 } }] };

/** A run that fails at 1,100. */
const failing = (): HandMade =>
  new HandMade(flaky).run({ at: 1_000, token: 1, ends: 1_100, outcome: 'failed' });
const second = { tick: 1_000, token: 2, attempt: 2 };

it('a failed run that is tried again in its time is as it should be', () => {
  const finding = failing()
    .run({ ...second, at: 2_110 })
    .check('retries');
  expect(finding).toMatchObject({ violations: [], counts: { 'runs that failed': 1, 'tried again': 1 } });
});

it('one that is tried again too early is caught', () => {
  const { violations } = failing()
    .run({ ...second, at: 1_800 })
    .check('retries');
  expect(violations).toEqual([expect.stringMatching(/attempt 2 .*too early, 700 ms after/)]);
});

it('one that is tried again past its next tick is caught', () => {
  const { violations } = failing()
    .run({ ...second, at: 11_500 })
    .check('retries');
  expect(violations).toEqual([expect.stringContaining('though the next tick had come')]);
});

it('one that nobody tries again is caught, unless something was wrong meanwhile, or it was the last attempt', () => {
  expect(failing().check('retries').violations).toEqual([expect.stringContaining('was not tried again')]);
  const cut = failing().fault('cut', 1_200, 1_300).check('retries');
  expect(cut).toMatchObject({ violations: [], counts: { 'not judged': 1 } });
  const last = failing()
    .run({ ...second, at: 2_110, ends: 2_120, outcome: 'failed' })
    .run({ ...second, at: 3_130, ends: 3_140, token: 3, attempt: 3, outcome: 'failed' });
  expect(last.check('retries')).toMatchObject({ violations: [], counts: { 'tried again': 2 } });
});
