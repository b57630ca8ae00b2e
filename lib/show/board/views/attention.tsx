import { timesIn } from '../../../insight/times.js';
import type { JobView } from '../../../insight/types.js';
import type { Cost } from '../data/cost.js';
import { sentenceIn } from '../data/looked.js';
import { linkTo } from '../data/question.js';
import { h } from './templates.js';
import { each, JobLink, lasting, Nothing, Region, type Scene, Status, Time } from './parts.js';

/** How many jobs are shown with their sentences. The list of all jobs has the others. */
export const MOST_ATTENTION = 30;

/** The jobs that a person should look at. */
export function Attention({
  scene,
  costs,
}: {
  scene: Scene;
  costs: ReadonlyMap<string, Cost>;
}): h.JSX.Element {
  const all = scene.looked.jobs.filter(({ attention }) => attention);
  const more = all.length - MOST_ATTENTION;
  return (
    <Region id="attention" title="Needs attention">
      {all.length === 0 ? (
        <Nothing>No job is known to need attention.</Nothing>
      ) : (
        <ul class="cases">
          {each(all.slice(0, MOST_ATTENTION), (view) => caseOf(view, scene, costs.get(view.job)))}
        </ul>
      )}
      {more > 0 && (
        <p class="note">
          And {more} more:{' '}
          <a href={linkTo({ ...lasting(scene.question), skip: MOST_ATTENTION })}>in the list of all jobs</a>.
        </p>
      )}
    </Region>
  );
}

function caseOf(view: JobView, scene: Scene, cost: Cost | undefined): h.JSX.Element {
  const { since, clauses = [] } = cost ?? {};
  const sentence = sentenceIn(scene.looked.facts.get(view.job), view, timesIn(scene.question.zone));
  return (
    <li key={view.job}>
      <p>
        <Status view={view} /> <JobLink job={view.job} scene={scene} />
        {since !== undefined && (
          <span class="faint">
            {' '}
            since <Time at={since} times={scene.times} />, {scene.times.since(since)}
          </span>
        )}
      </p>
      <p>{sentence}</p>
      {clauses.length > 0 && <p class="cost">Cost so far: {clauses.join(' · ')}</p>}
    </li>
  );
}
