import { describeRun, type Finding } from './finding.js';
import { groupBy, type Model, READING, type Run } from './model.js';
import { unnoticed } from './switches.js';

/** Two clocks of one machine are read one after the other, ms. */
const ALLOWANCE = 1;

/**
 * No two runs of one lock overlap while both holders could rely on their leases. They can until the end of the run,
 * the loss, the last confirmed deadline, or the end of the process. An overlap that is over within one heartbeat +
 * storeTimeout after an injected data loss is counted apart. So is one after the clock of the store was set forward:
 * leases expire early then. And so is one with a run whose lease a person has ended, until its holder can have noticed: see `unnoticed`.
 *
 * Nor may the library confirm a lease that is over, or confirm the lock to a job past its last deadline.
 */
export function checkOverlaps(model: Model): Finding {
  const { runs, troubles, steps } = model;
  const losses = troubles.filter(({ loses }) => loses);
  const forward = steps.filter(({ by }) => by > 0);
  const violations = runs.flatMap(wrongBelief);
  let forgotten = 0;
  let early = 0;
  let broken = 0;
  for (const ofLock of groupBy(runs, ({ lock }) => lock).values()) {
    let open: Run[] = [];
    for (const run of ofLock) {
      for (const other of open) {
        const until = Math.min(run.believedUntil, other.believedUntil);
        if (until - run.m <= ALLOWANCE) continue;
        const { heartbeat, storeTimeout } = other.facts;
        const noticed = heartbeat + storeTimeout + ALLOWANCE;
        if (losses.some(({ from, to }) => run.m >= from && until <= to + noticed)) forgotten += 1;
        else if (until <= unnoticed(model, other, run.m)) broken += 1;
        else if (forward.some(({ m }) => run.m >= m - READING && until <= m + noticed)) early += 1;
        else
          violations.push(
            `for ${(until - run.m).toFixed(0)} ms both ${describeRun(other)} and ${describeRun(run)} held ${run.lock}`,
          );
      }
      // Runs are in the order of their begin: a run whose lease is over by now overlaps no later run.
      open = [...open.filter(({ believedUntil }) => believedUntil > run.m), run];
    }
  }
  return {
    check: 'no two holders at a time',
    violations,
    counts: {
      runs: runs.length,
      'overlaps after a data loss': forgotten,
      'overlaps after the clock was set forward': early,
      'overlaps after a lease was broken': broken,
    },
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
