import { fencingFaultsIn, overlapsIn, takeOverOf, type Run } from './history.js';
import { duration } from './timeline.js';

const COLUMN = 12;

/** What a demo has shown. */
export interface Summary {
  lines: string[];
  /** What should not have been; empty if all went well. */
  faults: string[];
}

/**
 * @param killedAt when the run that was under way was killed; its instance may have lived a moment longer
 * @param killed that run
 */
export function summarize(
  runs: readonly Run[],
  instances: readonly string[],
  killed: Run,
  killedAt: number,
): Summary {
  const takeOver = takeOverOf(runs, killed);
  const order = checkOrder(runs);
  return {
    lines: [
      ...tableOf(runs, instances),
      '',
      order.overlaps,
      labelled('take-over', takeOver === undefined ? 'none' : told(takeOver, killed, killedAt)),
      order.fencing,
    ],
    faults: [
      ...order.faults,
      ...(takeOver === undefined
        ? [`no other instance took ${killed.job} over from ${killed.instance}`]
        : []),
    ],
  };
}

/**
 * What calls that wait have shown: those who live are served as they asked.
 *
 * @param asked the instances of the calls, in the order in which they asked
 * @param dead the one that was killed in line
 */
export function summarizeLine(runs: readonly Run[], asked: readonly string[], dead: string): Summary {
  const order = checkOrder(runs);
  const sorted = runs.toSorted((one, other) => one.startedAt - other.startedAt);
  const served = sorted.map(({ instance }) => instance).join(', ');
  const wanted = asked.filter((instance) => instance !== dead).join(', ');
  return {
    lines: [
      ...tableOf(runs, [...new Set(asked)]),
      '',
      labelled('asked', asked.join(', ')),
      labelled('served', `${served} (${dead} was killed in line)`),
      ...sorted.slice(1).map((run, i) => labelled('hand-over', handOver(sorted[i] as Run, run, asked, dead))),
      order.overlaps,
      order.fencing,
    ],
    faults: [
      ...order.faults,
      ...(served === wanted ? [] : [`served were ${served || 'none'}, and not ${wanted}`]),
    ],
  };
}

function handOver(from: Run, to: Run, asked: readonly string[], dead: string): string {
  const text = `${from.instance} to ${to.instance} in ${duration(to.startedAt - from.endedAt)}`;
  const between = asked.slice(asked.indexOf(from.instance) + 1, asked.indexOf(to.instance));
  return between.includes(dead) ? `${text}: so long the lock was kept for ${dead}, which was first` : text;
}

function tableOf(runs: readonly Run[], instances: readonly string[]): string[] {
  const table = [
    ['runs', ...instances],
    ...jobsOf(runs).map((job) => [job, ...instances.map((instance) => count(runs, job, instance))]),
  ];
  return table.map((cells) =>
    cells
      .map((cell) => cell.padEnd(COLUMN))
      .join('')
      .trimEnd(),
  );
}

/** Whether one run of a job followed the other, each with a greater token. */
function checkOrder(runs: readonly Run[]): { overlaps: string; fencing: string; faults: string[] } {
  const overlaps = overlapsIn(runs);
  const fencingFaults = fencingFaultsIn(runs);
  const fencing =
    fencingFaults.length === 0
      ? 'each run of a job got a greater token than the one before it'
      : `${fencingFaults.length} times a run got no greater token than one before it`;
  return {
    overlaps: labelled('overlaps', String(overlaps.length)),
    fencing: labelled('fencing', fencing),
    faults: [
      ...overlaps.map(([one, other]) => `two runs of ${one.job} overlapped: ${name(one)} and ${name(other)}`),
      ...fencingFaults.map(([one, other]) => `${name(other)} began after ${name(one)} with no greater token`),
    ],
  };
}

function labelled(label: string, text: string): string {
  return `${label.padEnd(COLUMN)}${text}`;
}

function told(takeOver: Run, killed: Run, killedAt: number): string {
  const after = duration(takeOver.startedAt - killedAt);
  return `${takeOver.instance} ran ${killed.job} ${after} after ${killed.instance} was killed: when the lease had expired, at the next tick`;
}

function jobsOf(runs: readonly Run[]): string[] {
  return [...new Set(runs.map(({ job }) => job))].toSorted();
}

/** `3`, `2 (1 killed)`, `2 (failed)`. */
function count(runs: readonly Run[], job: string, instance: string): string {
  const own = runs.filter((run) => run.job === job && run.instance === instance);
  const notes = (['failed', 'killed'] as const).filter((outcome) =>
    own.some((run) => run.outcome === outcome),
  );
  const told = notes.map((outcome) => {
    const number = own.filter((run) => run.outcome === outcome).length;
    return number === own.length ? outcome : `${number} ${outcome}`;
  });
  return told.length === 0 ? String(own.length) : `${own.length} (${told.join(', ')})`;
}

function name({ instance, fencingToken }: Run): string {
  return `${instance} with token ${fencingToken}`;
}
