import { describe, expect, it } from '@jest/globals';
import type { Run } from '../../../sample-app/demo/history.js';
import { summarize, summarizeLine, type Summary } from '../../../sample-app/demo/summary.js';

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

describe('the summary of calls that wait', () => {
  const asked = ['A', 'B', 'C', 'A'];
  const inLine = (...runs: Run[]): Summary => summarizeLine(runs, asked, 'B');
  const sync = (instance: string, startedAt: number, endedAt: number, more: Partial<Run> = {}): Run =>
    run(instance, startedAt, endedAt, { job: 'sync', ...more });

  it('tells who was served, and what each hand-over took', () => {
    const { lines, faults } = inLine(
      sync('A', 0, 1_000),
      sync('C', 3_000, 4_000),
      sync('A', 4_005, 5_000, { fencingToken: 5_000 }),
    );
    expect(faults).toEqual([]);
    expect(lines.join('\n')).toMatch(/runs +A +B +C\nsync +2 +0 +1\n/);
    expect(lines.join('\n')).toMatch(/served +A, C, A \(B was killed in line\)\n/);
    expect(lines.join('\n')).toMatch(/A to C in 2\.0 s: so long the lock was kept for B/);
    expect(lines.join('\n')).toMatch(/C to A in 5 ms\n/);
  });

  it('has a fault when one is overtaken', () => {
    const { faults } = inLine(sync('A', 0, 1_000), sync('A', 1_001, 2_000), sync('C', 3_000, 4_000));
    expect(faults).toEqual(['served were A, A, C, and not A, C, A']);
  });

  it('has a fault when one is not served, and when nobody is', () => {
    expect(inLine(sync('A', 0, 1_000), sync('C', 3_000, 4_000)).faults).toEqual([
      'served were A, C, and not A, C, A',
    ]);
    expect(inLine().faults).toEqual(['served were none, and not A, C, A']);
  });

  it('has a fault when the dead one is served, and when runs overlap', () => {
    const { faults } = inLine(sync('A', 0, 1_000), sync('B', 1_001, 2_000), sync('C', 1_500, 4_000));
    expect(faults).toEqual([
      'two runs of sync overlapped: B with token 1002 and C with token 1501',
      'served were A, B, C, and not A, C, A',
    ]);
  });
});
