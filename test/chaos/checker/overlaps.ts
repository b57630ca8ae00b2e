import { describeRun, type Finding } from './finding.js';
import { groupBy, type Model, type Run } from './model.js';

/** Two clocks of one machine are read one after the other, ms. */
const ALLOWANCE = 1;

/**
 * No two runs of one lock while both holders had reason to believe. Belief ends with the run's end, the loss, the last
 * confirmed deadline, or the process. An overlap that is over within one heartbeat + storeTimeout after an injected
 * data loss is counted apart.
 *
 * Nor may the library confirm a lease that is over, or tell a job that it holds past its last deadline.
 */
export function checkOverlaps(model: Model): Finding {
  const { runs, troubles } = model;
  const losses = troubles.filter(({ loses }) => loses);
  const violations = runs.flatMap(wrongBelief);
  let forgotten = 0;
  for (const ofLock of groupBy(runs, ({ lock }) => lock).values()) {
    let open: Run[] = [];
    for (const run of ofLock) {
      for (const other of open) {
        const until = Math.min(run.believedUntil, other.believedUntil);
        if (until - run.m <= ALLOWANCE) continue;
        const { heartbeat, storeTimeout } = other.facts;
        const excused = losses.some(
          ({ from, to }) => run.m >= from && until <= to + heartbeat + storeTimeout + ALLOWANCE,
        );
        if (excused) forgotten += 1;
        else
          violations.push(
            `for ${(until - run.m).toFixed(0)} ms both ${describeRun(other)} and ${describeRun(run)} held ${run.lock}`,
          );
      }
      // Runs begin in order: who has stopped believing overlaps with nobody that is still to come.
      open = [...open.filter(({ believedUntil }) => believedUntil > run.m), run];
    }
  }
  return {
    check: 'no two holders at a time',
    violations,
    counts: { runs: runs.length, 'overlaps after a data loss': forgotten },
  };
}

function wrongBelief(run: Run): string[] {
  const wrong: string[] = [];
  if (run.confirmed.length === 0) wrong.push(`${describeRun(run)} began without a lease`);
  for (const [index, { m }] of run.confirmed.entries()) {
    const deadline = run.confirmed[index - 1]?.until ?? Infinity;
    if (m > deadline + ALLOWANCE)
      wrong.push(`${describeRun(run)} was renewed ${(m - deadline).toFixed(0)} ms after its deadline`);
  }
  if (run.held !== undefined && run.held > run.deadline + ALLOWANCE)
    wrong.push(
      `${describeRun(run)} was told that it holds ${(run.held - run.deadline).toFixed(0)} ms after its deadline`,
    );
  return wrong;
}
