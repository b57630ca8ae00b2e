import { displayName } from '../../../base/lock-name.js';
import { given } from '../../../base/shared.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, Why } from '../../../insight/types.js';

/** Jobs that need attention for one reason. */
export interface Group {
  readonly key: string;
  readonly text: string;
  readonly views: readonly JobView[];
  /** Since when the first of them has its problem. */
  readonly since?: number;
  readonly sinceAtLeast?: true;
}

/** Puts the jobs that need attention together by what is wrong. @param sentence why a job is so, in the zone of the viewer */
export function groupsOf(
  views: readonly JobView[],
  sentence: (view: JobView) => string,
  times: Times,
): Group[] {
  const groups = new Map<string, { text: Common['text']; views: JobView[] }>();
  for (const view of views) {
    const own = sentence(view);
    const { key, text } = commonOf(view, times) ?? { key: own, text: () => own };
    const group = groups.get(key) ?? { text, views: [] };
    group.views.push(view);
    groups.set(key, group);
  }
  return [...groups].map(([key, { text, views: own }]) => {
    const [first] = own;
    const alone = own.length === 1 && first !== undefined ? sentence(first) : text(own);
    return { key, text: alone, views: own, ...oldest(own) };
  });
}

function oldest(views: readonly JobView[]): Pick<Group, 'since' | 'sinceAtLeast'> {
  const [first] = views
    .filter(({ since }) => since !== undefined)
    .sort((one, other) => (one.since ?? 0) - (other.since ?? 0));
  return given({ since: first?.since, sinceAtLeast: first?.sinceAtLeast });
}

/** What several jobs have in common, though each has a sentence of its own; and what is said of them. */
interface Common {
  readonly key: string;
  readonly text: (views: readonly JobView[]) => string;
}

function commonOf({ why, status, last }: JobView, times: Times): Common | undefined {
  if (status === 'failing' && last?.error !== undefined) {
    const { error } = last;
    return {
      key: `failing ${error}`,
      text: ({ length }) => `${length} jobs fail with the same error: ${error}`,
    };
  }
  return status === 'overdue' && why !== undefined ? missedBy(why, times) : undefined;
}

function missedBy(why: Why, times: Times): Common | undefined {
  const missed = (key: string, before: (views: readonly JobView[]) => string, after = '.'): Common => ({
    key,
    text: (views) => `${before(views)}${views.length} jobs missed a tick${after}`,
  });
  if (why.cause === 'unknown') return missed('unknown', () => '', ', and no instance has told why.');
  if (why.cause === 'missed') {
    const reasons = [...new Set(why.reasons.map(({ reason }) => reason))].sort().join(', ');
    return missed(`missed ${reasons}`, () => '', `: ${reasons}.`);
  }
  const to = 'to' in why && why.to !== undefined ? times.short(why.to) : undefined;
  const { last = '' } = why.cause === 'no-instance' ? why : {};
  const from = (views: readonly JobView[]): string =>
    times.short(
      Math.min(
        ...views.map((view) =>
          view.why !== undefined && 'from' in view.why ? (view.why.from ?? Infinity) : Infinity,
        ),
      ),
    );
  if (why.cause === 'no-instance' && why.from !== undefined)
    return missed(
      `nobody ${last}`,
      (views) => `No instance was up from ${from(views)} ${to === undefined ? 'on' : `to ${to}`}: `,
      `. ${displayName(last)} was the last one.`,
    );
  // Instances note the end of one outage at different moments: to the minute it is the same.
  if (why.cause === 'store-away')
    return missed(
      `away ${Math.round((why.to ?? 0) / 60_000)}`,
      (views) => `The store was away ${from(views)}–${to ?? ', and nobody has told when it came back'}: `,
    );
  return undefined;
}

/** In the order of their names. */
export const byName = (views: readonly JobView[]): JobView[] =>
  [...views].sort((one, other) => (displayName(one.job) < displayName(other.job) ? -1 : 1));
