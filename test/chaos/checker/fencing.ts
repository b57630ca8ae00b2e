import { describeRun, type Finding } from './finding.js';
import { groupBy, type Model, type Run } from './model.js';

/**
 * Fencing tokens strictly grow, lock by lock, among runs started before their deadline. A grant that was on its way
 * while the store lost its data is counted apart.
 */
export function checkFencing({ runs, troubles }: Model): Finding {
  const violations: string[] = [];
  let forgotten = 0;
  let compared = 0;
  for (const ofLock of groupBy(runs, ({ lock }) => lock).values()) {
    let greatest: Run | undefined;
    for (const run of ofLock) {
      if (run.m >= run.firstDeadline) continue;
      compared += 1;
      if (greatest === undefined || run.token > greatest.token) greatest = run;
      else if (
        troubles.some(({ loses, from, to }) => loses && run.m >= from && run.m <= to + run.facts.storeTimeout)
      )
        forgotten += 1;
      else violations.push(`${describeRun(run)} is not greater than that of ${describeRun(greatest)}`);
    }
  }
  return {
    check: 'fencing tokens grow',
    violations,
    counts: { 'runs compared': compared, 'out of order around a data loss': forgotten },
  };
}
