import { displayName } from '../../../base/lock-name.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, Why } from '../../../insight/types.js';

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
  for (const view of jobs) {
    const key = causeOf(view) ?? sentenceOf(view);
    groups.set(key, [...(groups.get(key) ?? []), view]);
  }
  return [...groups.values()].flatMap((views) => {
    const byName = [...views].sort((one, other) => (displayName(one.job) < displayName(other.job) ? -1 : 1));
    const [oldest] = [...views].sort((one, other) => (one.since ?? Infinity) - (other.since ?? Infinity));
    if (oldest === undefined) return [];
    const common = views.length > 1 ? textOf(oldest, views, times) : '';
    return [{ views: byName, oldest, sentence: common || sentenceOf(oldest) }];
  });
}

/** What several jobs can have in common, though each has a sentence of its own. */
function causeOf({ why, status, last }: JobView): string | undefined {
  if (status === 'failing' && last?.error !== undefined) return `failing ${last.error}`;
  if (status !== 'overdue' || why === undefined) return undefined;
  if (why.cause === 'no-instance' && why.from !== undefined) return `nobody ${why.last}`;
  // Instances note the end of one outage at different moments: to the minute it is the same.
  if (why.cause === 'store-away') return `away ${Math.round((why.to ?? 0) / 60_000)}`;
  if (why.cause === 'missed') return `missed ${reasonsOf(why)}`;
  return why.cause === 'unknown' ? why.cause : undefined;
}

function textOf({ why, status, last }: JobView, views: readonly JobView[], times: Times): string {
  if (status === 'failing') return `${views.length} jobs fail with the same error: ${last?.error}`;
  const missed = `${views.length} jobs missed a tick`;
  if (why?.cause === 'unknown') return `${missed}, and no instance has told why.`;
  if (why?.cause === 'missed') return `${missed}: ${reasonsOf(why)}.`;
  return why?.cause === 'store-away' || why?.cause === 'no-instance'
    ? `${awayText(why, views, times)}: ${missed}.`
    : '';
}

type Away = Extract<Why, { cause: 'store-away' | 'no-instance' }>;

function awayText(why: Away, views: readonly JobView[], times: Times): string {
  const begins = views.map((view) => (view.why && 'from' in view.why && view.why.from) || Infinity);
  const from = times.short(Math.min(...begins));
  const to = why.to === undefined ? undefined : times.short(why.to);
  return why.cause === 'store-away'
    ? `The store was away ${from}–${to ?? ', and nobody has told when it came back'}`
    : `No instance was up from ${from} ${to === undefined ? 'on' : `to ${to}`}, the last one was ${displayName(why.last)}`;
}

const reasonsOf = ({ reasons }: Extract<Why, { cause: 'missed' }>): string =>
  [...new Set(reasons.map(({ reason }) => reason))].sort().join(', ');
