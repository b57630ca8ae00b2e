import { describe, expect, it } from '@jest/globals';
import type { JobFacts } from '../../chaos/history.js';
import { HandMade } from './support/hand-made.js';

const KILLED = 20_500;

/** A run that begins at 20,000, whose holder is killed at 20,500: its lease is in the store until 22,000. */
function killed(job: Partial<JobFacts> = {}, offsets?: Record<string, number>): HandMade {
  return new HandMade({ jobs: [job], ...(offsets === undefined ? undefined : { offsets }) })
    .run({ at: 20_000, token: 1, ends: null })
    .kill('instance-1', KILLED);
}

const replaced = (history: HandMade, at: number, attempt = 1): HandMade =>
  history.run({ at, token: 2, i: 'instance-2', tick: attempt > 1 ? 20_000 : at, attempt });

describe('a holder that was killed', () => {
  it('is replaced within the remainder of its lease, a period and a second', () => {
    const finding = replaced(killed(), 23_000).check('take-over');
    expect(finding.violations).toEqual([]);
    expect(finding.counts).toMatchObject({
      'holders killed': 1,
      'time to take over, median': '2.50 s',
      'time to take over, p99': '2.50 s',
    });
  });

  it('is caught if that takes longer, or for ever', () => {
    expect(replaced(killed(), 24_100).check('take-over').violations).toEqual([
      expect.stringMatching(/replaced after 3600 ms, not within 3500 ms/),
    ]);
    expect(killed().check('take-over').violations).toEqual([expect.stringContaining('replaced never')]);
  });

  it.each<[string, (history: HandMade) => HandMade]>([
    ['the store was away', (history) => history.fault('store-restart', 21_000, 22_000)],
    ['the other instance was frozen', (history) => history.fault('pause', 21_000, 24_000, 'instance-2')],
    ['the clock of the store was set', (history) => history.step(21_000, 28_000, -3_000)],
    ['the other instance was killed too', (history) => history.kill('instance-2', 21_000, 24_000)],
    [
      'the machine was busy',
      (history) => history.add({ k: 'stall', from: 22_000, m: 23_000, i: 'instance-2' }),
    ],
  ])('is not judged if %s', (_why, harm) => {
    const finding = harm(killed()).check('take-over');
    expect(finding).toMatchObject({ violations: [], counts: { 'holders killed': 1 } });
    expect(Object.values(finding.counts)).toEqual([1, 1, '-', '-']);
  });

  it('is not judged if it had ended, or had lost its lease', () => {
    const ended = new HandMade().run({ at: 20_000, token: 1 }).kill('instance-1', KILLED);
    expect(ended.check('take-over').counts).toMatchObject({ 'holders killed': 0 });
  });

  it('may be replaced later by as much as the clock of who replaces it is behind', () => {
    const offsets = { 'instance-1': 1_500, 'instance-2': -500 };
    expect(replaced(killed({}, offsets), 25_900).check('take-over').violations).toEqual([]);
    expect(replaced(killed({}, offsets), 26_100).check('take-over').violations).toHaveLength(1);
  });
});

describe('with rerun, a holder that was killed', () => {
  const job = { rerun: 1, every: 10_000 };
  const watched = (): HandMade =>
    killed(job).skip(20_100, 'held', { i: 'instance-2', tick: 20_000, finished: false });

  it('is replaced within the remainder of its lease and a second by who knows of the run', () => {
    expect(replaced(watched(), 22_900, 2).check('take-over').violations).toEqual([]);
    expect(replaced(watched(), 23_100, 2).check('take-over').violations).toHaveLength(1);
  });

  it('is replaced at the next tick where nobody knows of the run', () => {
    expect(replaced(killed(job), 30_100).check('take-over').violations).toEqual([]);
  });
});
