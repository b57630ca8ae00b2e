import { datesOf, dueOf } from './dates.js';
import { given } from '../base/shared.js';
import { isOn, type JobFacts } from './facts.js';
import { isUp } from './join.js';
import { failuresOf, isEnded, isOff, judge } from './judgement.js';
import type { JobStatus, JobView } from './types.js';
import { whyOf } from './why.js';

/** What is known of a job, as people see it. */
export function viewOf(facts: JobFacts): JobView {
  const { known, runs } = facts;
  const { job, lock, kind, schedule, timeZone, interval } = known;
  const judgement = judge(facts);
  const failures = failuresOf(facts);
  const { status, attention, tick, pause } = judgement;
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
      paused: pause,
      why: attention || status === 'unknown' || pause !== undefined ? whyOf(facts, judgement) : undefined,
    }),
    failures,
    ...(failures >= OF_ONE && failures === facts.runs.filter(isEnded).length && { moreFailures: true }),
    instances: facts.knownBy.filter(isUp).map(({ instance }) => instance),
  };
}

/** How many entries of a lock tell how a job is. */
export const OF_ONE = 20;

function nextOf(facts: JobFacts): number | undefined {
  const { known, knownBy, time } = facts;
  if (isOff(facts) || !knownBy.some(({ state, job }) => state === 'up' && isOn(job))) return undefined;
  if (known.kind === 'interval') return dueOf(facts);
  const next = known.kind === 'cron' ? datesOf(facts).next(time) : Infinity;
  return next === Infinity ? undefined : next;
}

/** The compiler checks that no status is missing. */
const RANKS: Readonly<Record<JobStatus, number>> = {
  overdue: 0,
  hung: 1,
  failing: 2,
  interrupted: 3,
  overrun: 4,
  disagree: 5,
  unknown: 6,
  paused: 7,
  running: 8,
  new: 9,
  ok: 10,
  off: 11,
};

/** Those that need attention first, the worst of them at the top; jobs of the same status by name. */
export const attentionFirst = (one: JobView, other: JobView): number =>
  Number(other.attention) - Number(one.attention) ||
  RANKS[one.status] - RANKS[other.status] ||
  (one.job < other.job ? -1 : 1);
