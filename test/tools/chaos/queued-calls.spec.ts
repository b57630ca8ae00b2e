import { describe, expect, it } from '@jest/globals';
import type { Line } from '../../chaos/history.js';
import { HandMade } from './support/hand-made.js';

const life = { i: 'instance-1', n: 1 };
const lock = 'hooks';

/** A webhook that came at `m - 5`. */
const queued = (m: number, key: string): Line => ({ k: 'queued', m, since: m - 5, lock, key, ...life });
const queue = (m: number, queued: number, dead = 0): Line => ({
  k: 'queue',
  m,
  since: m - 5,
  lock,
  queued,
  dead,
  ...life,
});
/** A run of 10 ms; `undefined`: it never ended. */
const run = (at: number, key: string, token: number, delivery = 1, ends: number | null = at + 10): Line[] => [
  { k: 'confirmed', m: at, lock, token, until: at + 1_000, ...life },
  { k: 'start', m: at, lock, token, job: 'hook', call: 0, attempt: 1, key, delivery, ...life },
  ...(ends === null ? [] : [{ k: 'end', m: ends, lock, token, held: ends, ...life } as const]),
];

const check = (...lines: Line[]): readonly string[] =>
  new HandMade({ jobs: [{ job: 'hook', lock, kind: 'call', redeliver: 20 }] })
    .add(...lines)
    .check('queued-calls').violations;

describe('what was queued', () => {
  it('is run after it came, or still there', () => {
    expect(check(queued(1_000, 'a'), ...run(2_000, 'a', 1), queue(3_000, 0))).toEqual([]);
    expect(check(queued(1_000, 'a'), queue(3_000, 1))).toEqual([]);
    expect(check(queued(1_000, 'a'), queue(3_000, 0, 1))).toEqual([]);
  });

  it.each([
    ['never ran', []],
    ['began before it came', run(900, 'a', 1, 1, 1_200)],
    ['did not end', run(2_000, 'a', 1, 1, null)],
    ['was for another key', run(2_000, 'b', 1)],
  ])('is lost if its run %s', (_what, lines) => {
    const violations = check(queued(1_000, 'a'), ...lines, queue(3_000, 0));
    expect(violations).toEqual([
      expect.stringMatching(/1 keys \(a\) had been queued and never went through/),
    ]);
  });

  it('may be lost with the data of its store', () => {
    const history = new HandMade({ jobs: [{ job: 'hook', lock, kind: 'call', redeliver: 20 }] });
    history.add(queued(1_000, 'a'), queue(5_000, 0)).fault('store-wipe', 2_000, 2_100);
    expect(history.check('queued-calls').violations).toEqual([]);
  });

  it('is caught if it is delivered more often than it may be', () => {
    expect(check(queued(1_000, 'a'), ...run(2_000, 'a', 1, 22))).toEqual([
      expect.stringMatching(/^delivery 22 of hook .* 21 are allowed$/),
    ]);
  });

  it('is caught if what came later begins first, where each stands alone', () => {
    const [first, second] = [queued(1_000, 'one 1'), queued(1_500, 'two 1')];
    expect(check(first, second, ...run(2_000, 'one 1', 1), ...run(3_000, 'two 1', 2))).toEqual([]);
    expect(check(first, second, ...run(3_000, 'one 1', 2), ...run(2_000, 'two 1', 1))).toHaveLength(1);
  });
});
