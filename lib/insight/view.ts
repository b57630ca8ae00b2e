import { datesOf, dueOf } from './dates.js';
import { given, type JobFacts } from './facts.js';
import { failuresOf, isOff, statusOf } from './status.js';
import type { JobStatus, JobView } from './types.js';
import { why } from './why.js';

/** What is known of a job, as people see it. */
export function viewOf(facts: JobFacts): JobView {
  const { known, knownBy, runs } = facts;
  const { job, lock, kind, schedule, timeZone, interval } = known;
  const { status, attention, tick } = statusOf(facts);
  return {
    job,
    kind,
    ...given({ lock, schedule, timeZone, interval }),
    status,
    attention,
    ...given({
      last: runs[0],
      next: nextOf(facts),
      overdue: status === 'overdue' ? tick : undefined,
      why: attention ? why(facts) : undefined,
    }),
    failures: failuresOf(facts),
    instances: knownBy.filter(({ state }) => state === 'up').map(({ instance }) => instance),
  };
}

function nextOf(facts: JobFacts): number | undefined {
  const { known, knownBy, time } = facts;
  if (isOff(facts) || knownBy.every(({ state }) => state !== 'up')) return undefined;
  if (known.kind === 'interval') return dueOf(facts);
  const next = known.kind === 'cron' ? datesOf(facts).next(time) : Infinity;
  return next === Infinity ? undefined : next;
}

/** The compiler checks that none is missing. */
const RANKS: Readonly<Record<JobStatus, number>> = {
  overdue: 0,
  failing: 1,
  interrupted: 2,
  overrun: 3,
  running: 4,
  new: 5,
  ok: 6,
  off: 7,
};

/** Those that need attention first, the worst of them at the top; jobs of the same status by name. */
export const attentionFirst = (one: JobView, other: JobView): number =>
  Number(other.attention) - Number(one.attention) ||
  RANKS[one.status] - RANKS[other.status] ||
  (one.job < other.job ? -1 : 1);
