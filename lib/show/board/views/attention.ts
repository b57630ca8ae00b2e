import type { JobView } from '../../../insight/types.js';
import { byName, type Group, groupsOf } from '../data/groups.js';
import { lasting, linkTo } from '../data/question.js';
import { each, type Markup, markup } from './markup.js';
import { BROKEN_ITEM, jobLink, region, type Scene, sentenceIn, sinceOf, statusOf } from './parts.js';

/** How many groups are shown, how many names of a group before the others are folded, and how many of those. */
const MOST_GROUPS = 12;
const MOST_NAMES = 3;
const MOST_OTHERS = 60;

/** What a person should look at, by what is wrong. */
export function attention(scene: Scene): Markup {
  const { looked, times, question } = scene;
  const all = looked.jobs.filter((view) => view.attention);
  const sentence = (view: JobView): string =>
    view.why === undefined ? '' : sentenceIn(looked.facts.get(view.job), view.why, times);
  const groups = groupsOf(all, sentence, times);
  const more = groups.slice(MOST_GROUPS).reduce((sum, { views }) => sum + views.length, 0);
  const link = linkTo({ ...lasting(question), state: 'attention' });
  return region('attention', 'Needs attention', [
    markup`<ul class="cases">${each(groups.slice(0, MOST_GROUPS), (group) => caseOf(group, scene), BROKEN_ITEM)}</ul>`,
    more > 0 && markup`<p class="note">And ${more} more: <a href="${link}">in the table</a>.</p>`,
  ]);
}

function caseOf({ text, views, ...group }: Group, scene: Scene): Markup {
  const names = byName(views).map((view) => jobLink(view.job, scene));
  const since = sinceOf(group, scene.times);
  const [view] = views;
  if (view === undefined) throw new Error('a group without a job');
  if (views.length === 1)
    return markup`<li>${statusOf(view)}<div><p class="names">${names} ${since}</p><p class="sentence">${text}</p></div></li>`;
  const others = names.slice(MOST_NAMES);
  const more = others.length - MOST_OTHERS;
  const folded = markup`<details id="more-${view.job.replaceAll(/\W/g, '-')}"><summary>The others</summary>
    <p class="names">${others.slice(0, MOST_OTHERS)} ${more > 0 && markup`<span class="faint">and ${more} more</span>`}</p></details>`;
  return markup`<li>${statusOf({ ...view, failures: 0 })}<div><p class="sentence">${text} ${since}</p>
    <p class="names">${names.slice(0, MOST_NAMES)} ${others.length > 0 && markup`<span class="faint">and ${others.length} more</span>`}</p>
    ${others.length > 0 && folded}</div></li>`;
}
