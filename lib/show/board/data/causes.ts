import { displayName } from '../../../base/lock-name.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView } from '../../../insight/types.js';

/** Jobs that have one thing in common, and what that is: page and shell have it from here. */
export interface Cause {
  /** By name. */
  readonly views: readonly JobView[];
  /** The one that has its problem for the longest time. */
  readonly oldest: JobView;
  readonly sentence: string;
}

/** What is wrong, the jobs with one cause together. @param sentenceOf the sentence of one job */
export function causesOf(
  jobs: readonly JobView[],
  times: Times,
  sentenceOf: (view: JobView) => string,
): Cause[] {
  const groups = new Map<string, JobView[]>();
  const ends = jobs.map(endOf).sort((one, other) => other - one);
  // Instances note the end of one outage at different moments: those that follow each other within a minute are one.
  const outageOf = (view: JobView): number =>
    ends.reduce((at, end) => (end < at && at - end <= 60_000 ? end : at), endOf(view));
  for (const view of jobs) {
    const common = commonOf(view) ?? sentenceOf(view);
    const key = common === AWAY ? `${AWAY} until ${outageOf(view)}` : common;
    groups.set(key, [...(groups.get(key) ?? []), view]);
  }
  return [...groups.values()].map((views) => {
    const byName = [...views].sort((one, other) => (displayName(one.job) < displayName(other.job) ? -1 : 1));
    const oldest = views.reduce((one, other) => (beginOf(other) < beginOf(one) ? other : one));
    const sentence = (views.length > 1 && textOf(oldest, views, times)) || sentenceOf(oldest);
    return { views: byName, oldest, sentence };
  });
}

const AWAY = 'away';
const beginOf = ({ since = Infinity }: JobView): number => since;
/** When the outage that has cost its tick was over; 0: nobody has told. */
const endOf = ({ why }: JobView): number => (why?.cause === 'store-away' ? (why.to ?? 0) : 0);

/** What several jobs can have in common, though each has a sentence of its own: what is true of them, or which outage. */
function commonOf({ why, status, last }: JobView): string | undefined {
  if (status === 'failing' && last?.error !== undefined) return `fail with the same error: ${last.error}`;
  if (status !== 'overdue' || why === undefined) return undefined;
  if (why.cause === 'unknown') return 'missed a tick, and no instance has told why.';
  if (why.cause === 'missed')
    return `missed a tick: ${[...new Set(why.reasons.map(({ reason }) => reason))].sort().join(', ')}.`;
  if (why.cause === 'store-away') return AWAY;
  return why.cause === 'no-instance' && why.from !== undefined ? `nobody ${why.last}` : undefined;
}

function textOf(oldest: JobView, views: readonly JobView[], times: Times): string | undefined {
  const { why } = oldest;
  const common = commonOf(oldest);
  if (common === undefined) return undefined;
  if (why?.cause !== 'store-away' && why?.cause !== 'no-instance') return `${views.length} jobs ${common}`;
  const begins = views.map((view) => (view.why && 'from' in view.why && view.why.from) || Infinity);
  const from = times.short(Math.min(...begins));
  const to = why.to === undefined ? undefined : times.short(Math.max(why.to, ...views.map(endOf)));
  const away =
    why.cause === 'store-away'
      ? `The store was away ${from}–${to ?? ', and nobody has told when it came back'}`
      : `No instance was up from ${from} ${to === undefined ? 'on' : `to ${to}`}, the last one was ${displayName(why.last)}`;
  return `${away}: ${views.length} jobs missed a tick.`;
}
