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
  const overlaps = overlapsIn(runs);
  const fencingFaults = fencingFaultsIn(runs);
  const takeOver = takeOverOf(runs, killed);
  const table = [
    ['runs', ...instances],
    ...jobsOf(runs).map((job) => [job, ...instances.map((instance) => count(runs, job, instance))]),
  ];
  return {
    lines: [
      ...table.map((cells) =>
        cells
          .map((cell) => cell.padEnd(COLUMN))
          .join('')
          .trimEnd(),
      ),
      '',
      `${'overlaps'.padEnd(COLUMN)}${overlaps.length}`,
      `${'take-over'.padEnd(COLUMN)}${takeOver === undefined ? 'none' : told(takeOver, killed, killedAt)}`,
      `${'fencing'.padEnd(COLUMN)}${
        fencingFaults.length === 0
          ? 'each run of a job got a greater token than the one before it'
          : `${fencingFaults.length} times a run got no greater token than one before it`
      }`,
    ],
    faults: [
      ...overlaps.map(([one, other]) => `two runs of ${one.job} overlapped: ${name(one)} and ${name(other)}`),
      ...fencingFaults.map(([one, other]) => `${name(other)} began after ${name(one)} with no greater token`),
      ...(takeOver === undefined
        ? [`no other instance took ${killed.job} over from ${killed.instance}`]
        : []),
    ],
  };
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
