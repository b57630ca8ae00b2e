import { displayName } from '../../../base/lock-name.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, Why } from '../../../insight/types.js';
import { lasting, linkTo } from '../data/question.js';
import { each, type Markup, markup } from './markup.js';
import { BROKEN_ITEM, jobLink, region, type Scene, sentenceIn, sinceOf, statusOf } from './parts.js';

/** How many groups are shown, how many names of a group before the others are folded, and how many of those. */
const MOST_GROUPS = 12;
const MOST_NAMES = 3;
const MOST_OTHERS = 60;

/** What a person should look at, by what is wrong. */
export function attention(scene: Scene): Markup {
  const groups = new Map<string, JobView[]>();
  for (const view of scene.looked.jobs) {
    if (!view.attention) continue;
    const key = causeOf(view) ?? sentenceOf(view, scene);
    groups.set(key, [...(groups.get(key) ?? []), view]);
  }
  const all = [...groups.values()];
  const more = all.slice(MOST_GROUPS).flat().length;
  const link = linkTo({ ...lasting(scene.question), state: 'attention' });
  return region('attention', 'Needs attention', [
    markup`<ul class="cases">${each(all.slice(0, MOST_GROUPS), (views) => caseOf(views, scene), BROKEN_ITEM)}</ul>`,
    more > 0 && markup`<p class="note">And ${more} more: <a href="${link}">in the table</a>.</p>`,
  ]);
}

const sentenceOf = ({ job, why }: JobView, { looked, times }: Scene): string =>
  why === undefined ? '' : sentenceIn(looked.facts.get(job), why, times);

function caseOf(views: readonly JobView[], scene: Scene): Markup {
  const byName = [...views].sort((one, other) => (displayName(one.job) < displayName(other.job) ? -1 : 1));
  const names = byName.map((view) => jobLink(view.job, scene));
  // The one that has its problem for the longest time.
  const [oldest] = [...views].sort((one, other) => (one.since ?? Infinity) - (other.since ?? Infinity));
  if (oldest === undefined) throw new Error('a group without a job');
  const since = sinceOf(oldest, scene.times);
  const own = sentenceOf(oldest, scene);
  if (views.length === 1)
    return markup`<li>${statusOf(oldest)}<div><p class="names">${names} ${since}</p><p class="sentence">${own}</p></div></li>`;
  const others = names.slice(MOST_NAMES, MOST_NAMES + MOST_OTHERS);
  const more = names.length - MOST_NAMES - others.length;
  const folded = markup`<details id="more-${oldest.job.replaceAll(/\W/g, '-')}"><summary>and ${others.length + more} more</summary>
    <p class="names">${others} ${more > 0 && markup`<span class="faint">and ${more} more</span>`}</p></details>`;
  return markup`<li>${statusOf({ ...oldest, failures: 0 })}<div><p class="sentence">${textOf(oldest, views, scene.times) || own} ${since}</p>
    <p class="names">${names.slice(0, MOST_NAMES)}</p>${others.length > 0 && folded}</div></li>`;
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
