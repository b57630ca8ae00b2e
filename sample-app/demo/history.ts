/** What is known for certain about the instances: told by the jobs themselves, not by their locks. */
export type Fact =
  | {
      type: 'run-started';
      instance: string;
      at: number;
      job: string;
      fencingToken: number;
      tick?: number | undefined;
    }
  | {
      type: 'run-ended';
      instance: string;
      at: number;
      job: string;
      fencingToken: number;
      outcome: 'completed' | 'failed';
    }
  /** From then on nothing of it can run. */
  | { type: 'instance-ended'; instance: string; at: number };

/** One run of a job. Times are milliseconds on a clock that all instances share. */
export interface Run {
  job: string;
  instance: string;
  fencingToken: number;
  /** When its scheduler called it, epoch milliseconds. Absent for a call by hand. */
  tick?: number | undefined;
  startedAt: number;
  /** `Infinity` while it runs. */
  endedAt: number;
  outcome: 'completed' | 'failed' | 'killed' | 'running';
}

/**
 * The runs, in the order in which they began. A run ends when its job says so, or else with its instance.
 *
 * @throws if the facts do not fit together: then they prove nothing
 */
export function runsOf(facts: readonly Fact[]): Run[] {
  const runs: Run[] = [];
  for (const fact of facts.toSorted((one, other) => one.at - other.at)) {
    const running = runs.filter(
      ({ instance, outcome }) => instance === fact.instance && outcome === 'running',
    );
    if (fact.type === 'run-started') {
      const { job, instance, fencingToken, tick, at } = fact;
      runs.push({ job, instance, fencingToken, tick, startedAt: at, endedAt: Infinity, outcome: 'running' });
    } else if (fact.type === 'run-ended') {
      const run = running.find(
        ({ job, fencingToken }) => job === fact.job && fencingToken === fact.fencingToken,
      );
      if (run === undefined) throw new Error(`${fact.instance} ended a run of ${fact.job} that never began`);
      Object.assign(run, { endedAt: fact.at, outcome: fact.outcome });
    } else {
      for (const run of running) Object.assign(run, { endedAt: fact.at, outcome: 'killed' });
    }
  }
  return runs;
}

/** All pairs of runs of one job that went on at the same time. */
export function overlapsIn(runs: readonly Run[]): [Run, Run][] {
  return pairs(runs).filter(([one, other]) => one.startedAt < other.endedAt && other.startedAt < one.endedAt);
}

/** All pairs of runs of one job of which the later one did not get the greater fencing token. */
export function fencingFaultsIn(runs: readonly Run[]): [Run, Run][] {
  return pairs(runs).filter(([one, other]) => one.fencingToken >= other.fencingToken);
}

/** The first run of the job that began on another instance once `killed` was gone. */
export function takeOverOf(runs: readonly Run[], killed: Run): Run | undefined {
  return inOrder(runs).find(
    ({ job, instance, startedAt }) =>
      job === killed.job && instance !== killed.instance && startedAt >= killed.endedAt,
  );
}

/** Every two runs of one job, the earlier one first. */
function pairs(runs: readonly Run[]): [Run, Run][] {
  return inOrder(runs).flatMap((one, index, sorted) =>
    sorted
      .slice(index + 1)
      .filter(({ job }) => job === one.job)
      .map((other): [Run, Run] => [one, other]),
  );
}

function inOrder(runs: readonly Run[]): Run[] {
  return runs.toSorted((one, other) => one.startedAt - other.startedAt);
}
