import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

/** A lock for which calls wait, and a first run from 1,000 to 2,000. */
const line = (): HandMade =>
  new HandMade({ jobs: [{ kind: 'call', wait: 1 }] }).run({
    at: 1_000,
    ends: 2_000,
    token: 1,
    wait: 0,
    tick: null,
  });

const judged = (history: HandMade) => history.check('waiting');

/** How the other call has its turn, at 2,003. */
const turn = { at: 2_003, token: 2, tick: null, i: 'instance-2' };

describe('calls in line', () => {
  it('have their turn in the order in which they came, those with a greater priority first', () => {
    const finding = judged(
      line()
        .run({ ...turn, since: 1_400, wait: 5_000, priority: 1 })
        .run({ ...turn, at: 2_020, token: 3, since: 1_300, wait: 5_000 })
        .stands(1_500)
        .stands(1_600, { i: 'instance-2', aborted: 3_000, ends: 3_001, reason: 'aborted' }),
    );
    expect(finding.violations).toEqual([]);
    expect(finding.counts).toMatchObject({
      'calls in line': 4 + 1,
      'had their turn': 2 + 1,
      'waited until their limit': 1,
      aborted: 1,
      'hand-overs without a fault near': 0,
    });
  });

  it.each<[string, { since?: number; wait: number; priority?: number }, { priority?: number }]>([
    ['by one that came later', { since: 1_400, wait: 5_000 }, {}],
    ['by one that goes behind it', { since: 1_100, wait: 5_000 }, { priority: 1 }],
    ['by one that does not wait', { wait: 0, priority: 9 }, {}],
  ])('may not be passed over %s', (_, passing, passed) => {
    expect(
      judged(
        line()
          .stands(1_300, passed)
          .run({ ...turn, ...passing }),
      ).violations,
    ).toEqual([
      expect.stringMatching(/job on instance-1\.1 .* was passed over: at 2003 job on instance-2\.1 /),
    ]);
  });

  it.each<[string, (history: HandMade) => HandMade]>([
    ['came when the lock was free already', (history) => history.stands(1_990)],
    ['was aborted', (history) => history.stands(1_300, { aborted: 2_001, ends: 2_010, reason: 'aborted' })],
    ['had waited for long enough', (history) => history.stands(1_300, { wait: 700, ends: 2_010 })],
    ['was frozen', (history) => history.stands(1_300).fault('pause', 1_500, 1_900, 'instance-1')],
    [
      'was in a busy process',
      (history) => history.stands(1_300).add({ k: 'stall', from: 1_800, m: 2_100, i: 'instance-1' }),
    ],
    ['had the store away', (history) => history.stands(1_300).fault('store-restart', 500, 1_200)],
    ['stood there before the clock was set', (history) => history.stands(1_300).step(1_400, 9_000, 4_000)],
  ])('may be passed over if the call %s', (_, stands) => {
    const passing = { ...turn, since: 1_400, wait: 5_000, priority: 0 };
    expect(judged(stands(line()).run(passing)).violations).toEqual([]);
  });

  it('are not left waiting for a free lock', () => {
    const late = (at: number) =>
      line()
        .run({ ...turn, at, since: 1_400, wait: 9_000 })
        .stands(1_500);
    expect(judged(late(2_900)).violations).toEqual([]);
    expect(judged(late(3_100)).violations).toEqual([
      expect.stringContaining('the lock was free for 1100 ms'),
    ]);
  });

  it('wait a while longer for each process that does not come', () => {
    const late = (at: number) =>
      line()
        .stands(1_450, { i: 'instance-1' })
        .kill('instance-1', 1_600)
        .run({ ...turn, at, since: 1_400, wait: 9_000 })
        .stands(1_500, { i: 'instance-2' });
    expect(judged(late(4_900)).violations).toEqual([]);
    expect(judged(late(5_100)).violations).toEqual([
      expect.stringContaining('the lock was free for 3100 ms'),
    ]);
  });

  it.each<[string, Parameters<HandMade['stands']>[1], RegExp]>([
    ['their limit', { wait: 3_000, ends: 6_000 }, /went on 200 ms too long: held/],
    ['their signal', { aborted: 3_000, ends: 5_000, reason: 'aborted' }, /went on 500 ms too long: aborted/],
    ['either', { wait: 3_000, ends: null }, /went on \d+ ms too long: it has not ended/],
  ])('do not go on long after %s', (_, how, message) => {
    expect(judged(line().stands(1_300, how)).violations).toEqual([expect.stringMatching(message)]);
    const frozen = line().stands(1_300, how).fault('pause', 4_000, 60_000, 'instance-1');
    expect(judged(frozen).violations).toEqual([]);
  });

  it('do not run when they were refused', () => {
    const history = line().run({ ...turn, at: 9_000, since: 1_400, wait: 5_000 });
    history.add({ k: 'skipped', m: 6_401, i: 'instance-2', n: 1, job: 'job', call: 2, reason: 'held' });
    expect(judged(history).violations).toEqual([
      expect.stringContaining('ran although it had been refused (held)'),
    ]);
  });

  it('do not run when their signal has aborted', () => {
    const history = line().run({ ...turn, since: 1_400, wait: 5_000 });
    history.add({ k: 'aborted', m: 2_001, i: 'instance-2', n: 1, job: 'job', call: 2 });
    expect(judged(history).violations).toEqual([
      expect.stringContaining('ran although its signal had aborted'),
    ]);
  });

  it('are handed the lock soon, as a rule', () => {
    const passed = (gap: number, hints = false): HandMade => {
      const history = new HandMade({ jobs: [{ kind: 'call', wait: 1 }], hints });
      for (let token = 1, at = 5_000; token <= 22; token++, at += 200 + gap)
        history.run({ at, ends: at + 200, token, since: at - 100 - gap, wait: 5_000, tick: null });
      return history;
    };
    expect(judged(passed(300))).toMatchObject({
      violations: [],
      counts: { 'hand-overs without a fault near': 21, 'time of such a hand-over, median': '300 ms' },
    });
    expect(judged(passed(400)).violations).toEqual([
      'hand-overs took 400 ms in the middle, not 350 ms at most',
    ]);
    expect(judged(passed(300, true)).violations).toEqual([
      'hand-overs took 300 ms in the middle, not 100 ms at most',
    ]);
    expect(judged(passed(50, true)).violations).toEqual([]);
  });
});
