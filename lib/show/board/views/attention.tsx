import type { JobView } from '../../../insight/types.js';
import { type Group, groupsOf, namesOf } from '../data/groups.js';
import { lasting, linkTo } from '../data/question.js';
import { h } from './templates.js';
import { each, JobLink, Region, type Scene, sentenceIn, Since, Status } from './parts.js';

/** How many groups are shown, and how many names of a group before the others are folded. */
const MOST_GROUPS = 12;
const MOST_NAMES = 3;
const MOST_OTHERS = 60;

/** What a person should look at, by what is wrong. Nothing: no part at all. */
export function Attention({ scene }: { scene: Scene }): h.JSX.Element {
  const { looked, times, question } = scene;
  const all = looked.jobs.filter(({ attention }) => attention);
  const sentence = (view: JobView): string =>
    view.why === undefined ? '' : sentenceIn(looked.facts.get(view.job), view.why, times);
  const groups = groupsOf(all, sentence, times);
  const more = groups.slice(MOST_GROUPS).flatMap(({ views }) => views);
  return (
    <Region id="attention" title="Needs attention">
      <ul class="cases">{each(groups.slice(0, MOST_GROUPS), (group) => caseOf(group, scene))}</ul>
      {more.length > 0 && (
        <p class="note">
          And {more.length} more:{' '}
          <a href={linkTo({ ...lasting(question), state: 'attention' })}>in the table</a>.
        </p>
      )}
    </Region>
  );
}

function caseOf({ key, text, views, since, sinceAtLeast }: Group, scene: Scene): h.JSX.Element {
  const { first, others } = namesOf(views, MOST_NAMES);
  const [view] = views;
  const listed = (those: readonly JobView[]): h.JSX.Element[] =>
    those.map(({ job }) => <JobLink key={job} job={job} scene={scene} />);
  const isOne = views.length === 1;
  return (
    <li key={key}>
      {view !== undefined && <Status view={isOne ? view : { ...view, failures: 0 }} />}
      <div>
        {isOne && (
          <p class="names">
            {listed(first)} <Since since={since} sinceAtLeast={sinceAtLeast} times={scene.times} />
          </p>
        )}
        <p class="sentence">
          {text} {!isOne && <Since since={since} sinceAtLeast={sinceAtLeast} times={scene.times} />}
        </p>
        {!isOne && (
          <p class="names">
            {listed(first)}
            {others.length > 0 && <span class="faint">and {others.length} more</span>}
          </p>
        )}
        {others.length > 0 && (
          <details id={`more-${views[0]?.job.replaceAll(/\W/g, '-') ?? ''}`}>
            <summary>The others</summary>
            <p class="names">
              {listed(others.slice(0, MOST_OTHERS))}
              {others.length > MOST_OTHERS && (
                <span class="faint">and {others.length - MOST_OTHERS} more</span>
              )}
            </p>
          </details>
        )}
      </div>
    </li>
  );
}
