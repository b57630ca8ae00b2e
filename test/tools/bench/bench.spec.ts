import { describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../bench/arguments.js';
import { compare, comparisonTable } from '../../bench/comparison.js';
import { format, inversions, means, median, medianRatio } from '../../bench/statistics.js';
import { markdownTable } from '../../bench/table.js';
import { volley } from '../../bench/volley.js';
import type { Waiter } from '../../bench/waiters.js';

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

  it('count the neighbours that were served out of order', () => {
    expect(inversions([0, 1, 2, 3])).toBe(0);
    expect(inversions([0, 2, 1, 3])).toBe(1);
    expect(inversions([3, 2, 1, 0])).toBe(3);
    expect(inversions([])).toBe(0);
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

describe('the comparison with another checkout', () => {
  it('has every figure of both, divided within each round', () => {
    const now = [
      { cpu: 10, commands: 1 },
      { cpu: 300, commands: 1 },
      { cpu: 12, commands: 1 },
    ];
    const before = [
      { cpu: 20, commands: 1 },
      { cpu: 200, commands: 1 },
      { cpu: 24, commands: 1 },
    ];
    const found = compare('cycles', now, before);
    expect(found).toEqual([
      { measurement: 'cycles', figure: 'cpu', now: 12, before: 24, ratio: 0.5 },
      { measurement: 'cycles', figure: 'commands', now: 1, before: 1, ratio: 1 },
    ]);
    expect(comparisonTable(found).split('\n')[2]).toBe('| cycles | cpu | 24.0 | 12.0 | 0.50 |');
  });
});

describe('a lock that goes from hand to hand', () => {
  type Free = () => Promise<unknown>;

  /** Three who wait for a lock. @param next takes the one who is served out of those in line */
  const line = (
    next: (waiting: ((free: Free) => void)[]) => ((free: Free) => void) | undefined,
  ): Waiter[] => {
    const waiting: ((free: Free) => void)[] = [];
    let held = false;
    const free: Free = async () => {
      const granted = next(waiting);
      held = granted !== undefined;
      granted?.(free);
    };
    const ask: Waiter['ask'] = () => {
      if (!held) {
        held = true;
        return { stands: Promise.resolve(), granted: Promise.resolve(free) };
      }
      return { stands: Promise.resolve(), granted: new Promise<Free>((resolve) => waiting.push(resolve)) };
    };
    return Array.from({ length: 4 }, () => ({ ask, close: async () => undefined }));
  };

  it('is followed in the order in which those who wait are served', async () => {
    const inOrder = await volley(line((waiting) => waiting.shift()));
    expect(inOrder.order).toEqual([0, 1, 2]);
    expect(inOrder.times).toHaveLength(3);
    expect((await volley(line((waiting) => waiting.pop()))).order).toEqual([2, 1, 0]);
  });

  it('is looked at when all stand in line, and when the last one has it', async () => {
    const seen: string[] = [];
    const look = (what: string) => async () => void seen.push(what);
    const served = (waiting: ((free: Free) => void)[]): ((free: Free) => void) | undefined => {
      seen.push(`${waiting.length} wait`);
      return waiting.shift();
    };
    await volley(line(served), look('all stand'), look('all served'));
    expect(seen).toEqual(['all stand', '3 wait', '2 wait', '1 wait', 'all served', '0 wait']);
  });

  it('must not be granted while another one has it', async () => {
    const free: Free = async () => undefined;
    const everybody: Waiter = {
      ask: () => ({ stands: new Promise(() => undefined), granted: Promise.resolve(free) }),
      close: async () => undefined,
    };
    await expect(volley([everybody, everybody])).rejects.toThrow('granted while another one held it');
  });
});

describe('the arguments of the benchmark', () => {
  it('may be absent, and come in any order and either form', () => {
    expect(parseArguments([])).toEqual({ rounds: 0, only: '', quick: false, against: '' });
    expect(parseArguments(['--quick', '--rounds', '3', '--only', 'hold', '--against', '../before'])).toEqual({
      rounds: 3,
      only: 'hold',
      quick: true,
      against: '../before',
    });
    expect(parseArguments(['--rounds=2']).rounds).toBe(2);
  });

  it('are refused if they are unknown or no number', () => {
    expect(() => parseArguments(['--round', '3'])).toThrow('Unknown argument --round');
    expect(() => parseArguments(['--rounds', 'many'])).toThrow('--rounds: give a whole number');
  });
});
