import { counted } from '../../../base/wording.js';
import { type Age, headlineOf, nobodyText, toneOf, unreadText, verdictOf } from '../data/verdict.js';
import { type Markup, markup } from './markup.js';
import { type Scene, timeAt } from './parts.js';

const PLACE = 'here. Is this the store, the key prefix or the table of the application?';

/** The first line of the page: one sentence. */
export function verdictLine({ times, looked }: Scene, { age, failure, isAway }: Age, store: string): Markup {
  const verdict = verdictOf(looked);
  const since = `${isAway ? `No job can start: ${store} does not answer` : `${store} has told nothing`} since ${times.said(looked.now)}`;
  const problems = [
    failure !== undefined && `What is shown here is old: ${failure}`,
    ...unreadText(looked.unreadable),
    nobodyText(looked.told, times, PLACE),
  ];
  const kind = `${toneOf(verdict, failure)}${failure === undefined ? '' : ' away'}`;
  return markup`<section id="verdict" class="verdict ${kind}" data-live="always" data-age="${Math.round(age)}" aria-label="Verdict">
    <p class="headline">${failure === undefined ? headlineOf(verdict) : since}</p>
    ${problems.map((problem) => problem && markup`<p class="problem">${problem}</p>`)}
    <p class="note">${counted(verdict.instancesUp, 'instance')} up · ${store} · ${timeAt(looked.now, times)} · <span data-since>${Math.round(age / 1_000)} s old</span></p>
  </section>`;
}
