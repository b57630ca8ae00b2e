import { type Cause, causesOf } from '../data/causes.js';
import { linkFrom } from '../data/question.js';
import { each, type Markup, markup } from './markup.js';
import { BROKEN_ITEM, jobLink, region, type Scene, sentenceIn, sinceOf, statusOf } from './parts.js';

/** How many groups are shown, and how many names of a group before the others are folded. */
const MOST_GROUPS = 12;
const MOST_NAMES = 3;

/** What a person should look at, by what is wrong. */
export function attention(scene: Scene): Markup {
  const { looked, times, question } = scene;
  const wrong = looked.jobs.filter((view) => view.attention);
  const all = causesOf(wrong, times, (view) => sentenceIn(looked.facts.get(view.job), view.why, times));
  const more = all.slice(MOST_GROUPS).flatMap(({ views }) => views).length;
  const link = linkFrom(question, { state: 'attention' });
  return region('attention', 'Needs attention', [
    markup`<ul class="cases">${each(all.slice(0, MOST_GROUPS), (cause) => caseOf(cause, scene), BROKEN_ITEM)}</ul>`,
    more > 0 && markup`<p class="note">And ${more} more: <a href="${link}">in the table</a>.</p>`,
  ]);
}

function caseOf({ views, oldest, sentence }: Cause, scene: Scene): Markup {
  const names = views.map((view) => jobLink(view.job, scene));
  const since = sinceOf(oldest, scene.times);
  if (views.length === 1)
    return markup`<li>${statusOf(oldest)}<div><p class="names">${names} ${since}</p><p class="sentence">${sentence}</p></div></li>`;
  const others = names.slice(MOST_NAMES);
  const folded = markup`<details id="more-${oldest.job.replaceAll(/\W/g, '-')}"><summary>and ${others.length} more</summary>
    <p class="names">${others}</p></details>`;
  return markup`<li>${statusOf({ ...oldest, failures: 0 })}<div><p class="sentence">${sentence} ${since}</p>
    <p class="names">${names.slice(0, MOST_NAMES)}</p>${others.length > 0 && folded}</div></li>`;
}
