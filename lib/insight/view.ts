import { datesOf, dueOf } from './dates.js';
import { pauseNow } from './controls.js';
import { given } from '../base/shared.js';
import { hasFailed, type JobFacts, lastStartOf, upAndOn } from './facts.js';
import { isUp } from './join.js';
import { failuresOf, isOff, type Judgement, judge } from './judgement.js';
import type { JobView } from './types.js';
import { whyOf } from './why.js';

/** What is known of a job, as people see it. */
export function viewOf(facts: JobFacts): JobView {
  const { known, runs } = facts;
  const { job, lock, kind, schedule, timeZone, interval } = known;
  const judgement = judge(facts);
  const { status, attention, tick, pause } = judgement;
  return {
    job,
    kind,
    ...given({ lock, schedule, timeZone, interval }),
    status,
    attention,
    ...given({
      last: runs[0],
      next: nextOf(facts, Math.max(facts.time, pause?.until ?? 0)),
      overdue: status === 'overdue' ? tick : undefined,
      paused: pauseNow(facts.lock),
      why: attention || status === 'unknown' || pause !== undefined ? whyOf(facts, judgement) : undefined,
    }),
    failures: failuresOf(facts),
    ...given(sinceOf(facts, judgement)),
    instances: facts.knownBy.filter(isUp).map(({ instance }) => instance),
  };
}

/** How many entries of a lock tell how a job is: from so many runs on older ones were not read. */
export const OF_ONE = 20;

/** Since when it is so. `sinceAtLeast`: perhaps for longer, as older runs may not have been read. */
function sinceOf(facts: JobFacts, judgement: Judgement): Partial<Pick<JobView, 'since' | 'sinceAtLeast'>> {
  const { runs, others } = facts;
  const { status, run, pause } = judgement;
  if (status === 'overdue') return { since: missedSince(facts, judgement) };
  if (status !== 'failing') return given({ since: pause?.since ?? run?.startedAt });
  const failed = runs.filter(hasFailed).slice(0, failuresOf(facts));
  const isWhole = runs.length + others.length < OF_ONE || runs.some(({ outcome }) => outcome === 'completed');
  return given({ since: failed.at(-1)?.startedAt, sinceAtLeast: isWhole ? undefined : (true as const) });
}

/** The first tick since its last run that somebody noted as missed. */
function missedSince(facts: JobFacts, { tick = Infinity }: Judgement): number {
  const last = Math.max(lastStartOf(facts)?.tick ?? 0, facts.runs[0]?.startedAt ?? 0);
  return Math.min(tick, ...facts.misses.map((miss) => miss.tick).filter((at) => at > last));
}

/** @param from now, or the end of a pause */
function nextOf(facts: JobFacts, from: number): number | undefined {
  const { known } = facts;
  if (isOff(facts) || upAndOn(facts).length === 0) return undefined;
  const due = known.kind === 'interval' ? dueOf(facts) : undefined;
  if (due !== undefined) return from > facts.time ? Math.max(due, from) : due;
  const next = known.kind === 'cron' ? datesOf(facts).next(from) : Infinity;
  return next === Infinity ? undefined : next;
}

/** From the worst on. */
const RANKS =
  'overdue hung failing hollow interrupted overrun disagree unknown paused running new ok off'.split(' ');

/** Those that need attention first, the worst of them at the top; jobs of the same status by name. */
export const attentionFirst = (one: JobView, other: JobView): number =>
  Number(other.attention) - Number(one.attention) ||
  RANKS.indexOf(one.status) - RANKS.indexOf(other.status) ||
  (one.job < other.job ? -1 : 1);
