import { describe, expect, it } from '@jest/globals';
import {
  type Fact,
  fencingFaultsIn,
  overlapsIn,
  type Run,
  runsOf,
  takeOverOf,
} from '../../../sample-app/demo/history.js';

const started = (instance: string, at: number, fencingToken: number, job = 'report'): Fact => ({
  type: 'run-started',
  instance,
  at,
  job,
  fencingToken,
});

const ended = (instance: string, at: number, fencingToken: number, job = 'report'): Fact => ({
  type: 'run-ended',
  instance,
  at,
  job,
  fencingToken,
  outcome: 'completed',
});

const died = (instance: string, at: number): Fact => ({ type: 'instance-ended', instance, at });

/** As short as a hand-made history is best read: `A1+B2`. */
const told = (found: [Run, Run][]): string[] =>
  found.map((runs) => runs.map(({ instance, fencingToken }) => `${instance}${fencingToken}`).join('+'));

const overlapsOf = (...facts: Fact[]): string[] => told(overlapsIn(runsOf(facts)));

describe('overlaps in a history', () => {
  it('are none when each run begins after the one before it has ended', () => {
    expect(overlapsOf(started('A', 0, 1), ended('A', 10, 1), started('B', 11, 2), ended('B', 20, 2))).toEqual(
      [],
    );
  });

  it('are none when one run begins at the very moment when the other ends', () => {
    expect(overlapsOf(started('A', 0, 1), ended('A', 10, 1), started('B', 10, 2), ended('B', 20, 2))).toEqual(
      [],
    );
  });

  it('are found between instances', () => {
    const facts = [started('A', 0, 1), started('B', 9, 2), ended('A', 10, 1), ended('B', 20, 2)];
    expect(overlapsOf(...facts)).toEqual(['A1+B2']);
  });

  it('are found within one instance', () => {
    const facts = [started('A', 0, 1), started('A', 5, 2), ended('A', 10, 1), ended('A', 12, 2)];
    expect(overlapsOf(...facts)).toEqual(['A1+A2']);
  });

  it('are found when one run is wholly inside the other', () => {
    const facts = [started('A', 0, 1), started('B', 4, 2), ended('B', 5, 2), ended('A', 10, 1)];
    expect(overlapsOf(...facts)).toEqual(['A1+B2']);
  });

  it('are found when two runs begin at the same moment', () => {
    const facts = [started('A', 0, 1), started('B', 0, 2), ended('A', 10, 1), ended('B', 10, 2)];
    expect(overlapsOf(...facts)).toEqual(['A1+B2']);
  });

  it('are found with a run that has not ended', () => {
    expect(overlapsOf(started('A', 0, 1), started('B', 1_000, 2))).toEqual(['A1+B2']);
  });

  it('are found between runs that are not neighbours', () => {
    const facts = [
      started('A', 0, 1),
      started('B', 1, 2),
      ended('B', 2, 2),
      started('C', 3, 3),
      ended('C', 4, 3),
      ended('A', 9, 1),
    ];
    expect(overlapsOf(...facts)).toEqual(['A1+B2', 'A1+C3']);
  });

  it('are none between different jobs', () => {
    const facts = [
      started('A', 0, 1, 'report'),
      started('B', 1, 2, 'prices'),
      ended('B', 2, 2, 'prices'),
      ended('A', 9, 1, 'report'),
    ];
    expect(overlapsOf(...facts)).toEqual([]);
  });

  it('do not depend on the order in which the facts became known', () => {
    const facts = [ended('B', 20, 2), started('B', 9, 2), ended('A', 10, 1), started('A', 0, 1)];
    expect(overlapsOf(...facts)).toEqual(['A1+B2']);
  });
});

describe('a killed instance', () => {
  it('ends its runs, so that the next one does not overlap with them', () => {
    const facts = [started('A', 0, 1), died('A', 5), started('B', 6, 2), ended('B', 10, 2)];
    expect(overlapsOf(...facts)).toEqual([]);
    expect(runsOf(facts)[0]).toMatchObject({ endedAt: 5, outcome: 'killed' });
  });

  it('does not excuse a run that began before its end', () => {
    const facts = [started('A', 0, 1), started('B', 4, 2), died('A', 5), ended('B', 10, 2)];
    expect(overlapsOf(...facts)).toEqual(['A1+B2']);
  });

  it('leaves the runs of the others as they are', () => {
    const facts = [started('B', 0, 1), died('A', 5), started('C', 6, 2)];
    expect(overlapsOf(...facts)).toEqual(['B1+C2']);
  });

  it('leaves what it had completed as it was', () => {
    expect(runsOf([started('A', 0, 1), ended('A', 3, 1), died('A', 5)])[0]).toMatchObject({
      endedAt: 3,
      outcome: 'completed',
    });
  });
});

describe('facts that do not fit together', () => {
  it('are an error and not a history without overlaps', () => {
    expect(() => runsOf([ended('A', 1, 1)])).toThrow('A ended a run of report that never began');
    expect(() => runsOf([started('A', 0, 1), ended('A', 1, 2)])).toThrow('never began');
    expect(() => runsOf([started('A', 0, 1), died('A', 1), ended('A', 2, 1)])).toThrow('never began');
  });
});

describe('fencing tokens', () => {
  it('are at fault when a later run of the job got the same or a smaller one', () => {
    const facts = [
      started('A', 0, 7),
      ended('A', 1, 7),
      started('B', 2, 7),
      ended('B', 3, 7),
      started('A', 4, 6),
      ended('A', 5, 6),
    ];
    expect(told(fencingFaultsIn(runsOf(facts)))).toEqual(['A7+B7', 'A7+A6', 'B7+A6']);
  });

  it('of different jobs have nothing to do with each other', () => {
    const facts = [started('A', 0, 7, 'report'), started('B', 2, 3, 'prices')];
    expect(fencingFaultsIn(runsOf(facts))).toEqual([]);
  });
});

describe('the take-over', () => {
  const killed = [started('A', 0, 1), died('A', 5)];
  const takeOver = (...facts: Fact[]): Run | undefined => {
    const runs = runsOf([...killed, ...facts]);
    const [first] = runs;
    return first === undefined ? undefined : takeOverOf(runs, first);
  };

  it('is the first run of the job on another instance after the kill', () => {
    expect(takeOver(started('B', 8, 2), ended('B', 9, 2), started('C', 10, 3))).toMatchObject({
      instance: 'B',
      startedAt: 8,
    });
  });

  it('is none when nobody runs the job', () => {
    expect(takeOver()).toBeUndefined();
    expect(takeOver(started('B', 8, 2, 'prices'))).toBeUndefined();
  });

  it('is none when the job ran beside the killed one', () => {
    expect(takeOver(started('B', 3, 2))).toBeUndefined();
  });
});
