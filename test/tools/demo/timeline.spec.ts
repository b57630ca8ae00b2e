import { describe, expect, it } from '@jest/globals';
import type { Fact } from '../../../sample-app/demo/history.js';
import { Timeline } from '../../../sample-app/demo/timeline.js';

const started = (instance: string, at: number): Fact => ({
  type: 'run-started',
  instance,
  at,
  job: 'sync',
  fencingToken: at,
});

describe('the timeline of calls that wait', () => {
  it('shows who has its turn, who stands in line, and who is gone', () => {
    const lines: string[] = [];
    const timeline = new Timeline(['A', 'B', 'C'], 0, (line) => lines.push(line), {
      lane: 22,
      longJob: 'sync',
      starts: () => 'has its turn',
    });
    const waits = (instance: string, at: number, ahead: number): void =>
      timeline.lock(instance, { type: 'lock', at, event: 'waiting', lock: 'sync', ahead });
    timeline.fact(started('A', 0));
    waits('B', 10, 0);
    waits('C', 20, 1);
    timeline.fact({ type: 'instance-ended', instance: 'B', at: 30 });
    timeline.fact({
      type: 'run-ended',
      instance: 'A',
      at: 1_000,
      job: 'sync',
      fencingToken: 0,
      outcome: 'completed',
    });
    timeline.fact(started('C', 3_000));
    timeline.flush();
    const cells = lines.map((line) =>
      [16, 40, 64].map((column) => line.slice(column, column + 22).trimEnd()),
    );
    expect(cells).toEqual([
      ['┏ has its turn', '│', '│'],
      ['┃', '┊ waits, first in line', '│'],
      ['┃', '┊', '┊ waits, 1 ahead'],
      ['┗ done after 1.0 s', '', '┊'],
      ['│', '', '┏ has its turn'],
    ]);
  });
});
