import { describe, expect, it } from '@jest/globals';
import type { Run } from '../../../sample-app/demo/history.js';
import { summarize, type Summary } from '../../../sample-app/demo/summary.js';

const run = (instance: string, startedAt: number, endedAt: number, more: Partial<Run> = {}): Run => ({
  job: 'report',
  instance,
  fencingToken: startedAt + 1,
  startedAt,
  endedAt,
  outcome: 'completed',
  ...more,
});

const killed = run('A', 0, 4_000, { outcome: 'killed' });

const summaryOf = (...others: Run[]): Summary => summarize([killed, ...others], ['A', 'B'], killed, 3_990);

describe('the summary of a demo', () => {
  it('counts runs per instance and tells the take-over', () => {
    const { lines, faults } = summaryOf(run('B', 7_990, 16_000), run('B', 100, 105, { job: 'prices' }));
    expect(faults).toEqual([]);
    expect(lines.join('\n')).toMatch(/report +1 \(killed\) +1\n/);
    expect(lines.join('\n')).toMatch(/prices +0 +1\n/);
    expect(lines.join('\n')).toMatch(/overlaps +0\n/);
    expect(lines.join('\n')).toContain('B ran report 4.0 s after A was killed');
  });

  it('has a fault for each overlap', () => {
    const { lines, faults } = summaryOf(run('B', 3_000, 3_500), run('B', 7_000, 8_000));
    expect(faults).toEqual(['two runs of report overlapped: A with token 1 and B with token 3001']);
    expect(lines.join('\n')).toMatch(/overlaps +1\n/);
  });

  it('has a fault when nobody took over', () => {
    expect(summaryOf().faults).toEqual(['no other instance took report over from A']);
  });

  it('has a fault when fencing tokens do not grow', () => {
    const { faults } = summaryOf(run('B', 7_000, 8_000, { fencingToken: 1 }));
    expect(faults).toEqual(['B with token 1 began after A with token 1 with no greater token']);
  });
});
