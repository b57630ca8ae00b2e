import { describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../bench/arguments.js';
import { format, means, median, medianRatio } from '../../bench/statistics.js';
import { markdownTable } from '../../bench/table.js';

describe('the figures of the benchmark', () => {
  it('have the middle value as median, or the mean of the two in the middle', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([10, 2, 4, 3])).toBe(3.5);
    expect(median([])).toBeNaN();
  });

  it('are divided within a round before the median is taken, so that a slow round cancels out', () => {
    expect(medianRatio([20, 200, 20], [10, 100, 5])).toBe(2);
  });

  it('are averaged over the turns of one process, each by its name', () => {
    expect(
      means([
        { cpu: 1, wall: 10 },
        { cpu: 3, wall: 20 },
      ]),
    ).toEqual({ cpu: 2, wall: 15 });
    expect(means([])).toEqual({});
  });

  it('are shown with about three digits', () => {
    expect(format(0.8149)).toBe('0.81');
    expect(format(12.34, 'ms')).toBe('12.3 ms');
    expect(format(1234.5)).toBe('1235');
    expect(format(NaN, 'ms')).toBe('-');
  });
});

describe('the table of the benchmark', () => {
  it('is Markdown with one line per row, and says loudly what is not met', () => {
    const row = { ours: '1', reference: '2', redlock: '3', semaphore: '4', target: '≤ 1' };
    const lines = markdownTable([
      { ...row, case: 'a|b', met: true },
      { ...row, case: 'c', met: false },
      { ...row, case: 'd', met: undefined },
    ]).split('\n');
    expect(lines).toHaveLength(5);
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
    expect(lines[2]).toMatch(/^\| a\\\|b +\| 1 +\| 2 +\| 3 +\| 4 +\| ≤ 1 +\| yes +\|$/);
    expect(lines[3]).toContain('**no**');
    expect(lines[4]).toMatch(/\| +\|$/);
  });
});

describe('the arguments of the benchmark', () => {
  it('may be absent, and come in any order and either form', () => {
    expect(parseArguments([])).toEqual({ rounds: 0, only: '', quick: false });
    expect(parseArguments(['--quick', '--rounds', '3', '--only', 'hold'])).toEqual({
      rounds: 3,
      only: 'hold',
      quick: true,
    });
    expect(parseArguments(['--rounds=2'])).toEqual({ rounds: 2, only: '', quick: false });
  });

  it('are refused if they are unknown or no number', () => {
    expect(() => parseArguments(['--round', '3'])).toThrow('Unknown argument --round');
    expect(() => parseArguments(['--rounds', 'many'])).toThrow('--rounds: give a whole number');
  });
});
