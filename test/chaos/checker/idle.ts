import { describeRun, type Finding } from './finding.js';
import type { Model } from './model.js';

/** A renewal, or its line in the history, may be on its way when a job begins or ends, ms. */
const GRACE = 500;

/**
 * A lease lives with its job: no lease is renewed without a run, or after its run has ended. And no call or process
 * fails, whatever listeners and the logger do, as no job here throws.
 */
export function checkIdle({ leases, failures, over }: Model): Finding {
  const violations: string[] = [];
  for (const { confirmed, run } of leases) {
    const [first] = confirmed;
    const last = confirmed.at(-1);
    if (first === undefined || last === undefined || first.m > over) continue;
    const { lock, job = lock, i, n, token } = first;
    const until = run === undefined ? first.m : run.endedAt;
    if (until === undefined || last.m <= until + GRACE) continue;
    const late = `${(last.m - until).toFixed(0)} ms`;
    violations.push(
      run === undefined
        ? `the lease of ${job} on ${i}.${n} (fencing token ${token}) was renewed for ${late} without a run`
        : `the lease of ${describeRun(run)} was still renewed ${late} after the run had ended`,
    );
  }
  const failed = failures.filter(({ m }) => m <= over);
  for (const line of failed) {
    const what = line.k === 'rejected' ? `a call of ${line.job} failed` : 'an error was caught by nobody';
    violations.push(`${what} on ${line.i}.${line.n} at ${line.m.toFixed(0)}: ${line.error}`);
  }
  return {
    check: 'a lease lives with its job',
    violations,
    counts: { leases: leases.length, 'calls that failed, errors that nobody caught': failed.length },
  };
}
