import { hasFailed, wasInterrupted } from '../../../insight/facts.js';
import { scheduleOf } from '../../../insight/shown.js';
import type { JobView, RunInfo } from '../../../insight/types.js';
import { NOTHING_KEPT } from '../data/looked.js';
import { linkTo } from '../data/question.js';
import { h } from './templates.js';
import {
  each,
  JobLink,
  lasting,
  Nothing,
  Region,
  type Scene,
  Status,
  Table,
  Time,
  timeOf,
  took,
  TraceLink,
  WhyLink,
} from './parts.js';

/** How many jobs are listed at a time. */
export const PAGE = 50;

/** All jobs: the last success of each beside its last error. */
export function Jobs({ scene }: { scene: Scene }): h.JSX.Element {
  const { question, looked } = scene;
  const wanted = question.find.toLowerCase();
  const found = looked.jobs.filter(({ job }) => job.toLowerCase().includes(wanted));
  const skip = question.skip < found.length ? question.skip : 0;
  const shown = found.slice(skip, skip + PAGE);
  return (
    <Region
      id="jobs"
      title="All jobs"
      note={`${found.length} of ${looked.jobs.length}, those that need attention first`}
    >
      <Find scene={scene} />
      {shown.length === 0 ? (
        <Nothing>{wanted === '' ? 'No instance has reported a job.' : 'No job has such a name.'}</Nothing>
      ) : (
        <Table label="All jobs" heads={['Job', 'State', 'Schedule', 'Last success', 'Last error', 'Next']}>
          {each(shown, (view) => rowOf(view, scene), 6)}
        </Table>
      )}
      <Pages scene={scene} skip={skip} count={found.length} />
    </Region>
  );
}

/** Works without a script: the browser puts the fields into the query. */
const Find = ({ scene: { question } }: { scene: Scene }): h.JSX.Element => (
  <form class="find" method="get" role="search">
    <label>
      Name contains <input type="search" name="find" value={question.find} />
    </label>
    {[...new URLSearchParams(linkTo(lasting(question)))].map(([name, value]) => (
      <input key={name} type="hidden" name={name} value={value} />
    ))}
    <button type="submit">Find</button>
  </form>
);

function Pages({ scene, skip, count }: { scene: Scene; skip: number; count: number }): h.JSX.Element {
  const to = (at: number): string =>
    linkTo({ ...lasting(scene.question), find: scene.question.find, skip: at });
  return (
    <p class="choices">
      {skip > 0 && <a href={to(Math.max(0, skip - PAGE))}>Previous {PAGE}</a>}{' '}
      {skip + PAGE < count && <a href={to(skip + PAGE)}>Next {Math.min(PAGE, count - skip - PAGE)}</a>}
    </p>
  );
}

const isBad = (run: RunInfo): boolean => hasFailed(run) || wasInterrupted(run);

function rowOf(view: JobView, scene: Scene): h.JSX.Element {
  const { runs } = scene.looked.kept.get(view.job) ?? NOTHING_KEPT;
  const good = runs.find(({ outcome }) => outcome === 'completed');
  const bad = runs.find(isBad);
  return (
    <tr key={view.job}>
      <th scope="row">
        <JobLink job={view.job} scene={scene} />
      </th>
      <td>
        <Status view={view} />
      </td>
      <td class="name">{scheduleOf(view, scene.question.zone)}</td>
      <td>
        <Run run={good} scene={scene} />
      </td>
      <td class="text">
        <Run run={bad} scene={scene} />
      </td>
      <td>
        <Time at={view.next} times={scene.times} />
      </td>
    </tr>
  );
}

/** A run: when, how long, and the error that it threw. */
export function Run({ run, scene }: { run: RunInfo | undefined; scene: Scene }): h.JSX.Element {
  if (run?.job === undefined) return <span class="faint">none is kept</span>;
  const { error, outcome, job } = run;
  return (
    <span>
      <WhyLink job={job} at={timeOf(run)} scene={scene}>
        <Time at={run.startedAt} times={scene.times} />
      </WhyLink>{' '}
      <span class="faint">{took(run, scene.looked.now)}</span>{' '}
      {outcome !== 'completed' && (
        <span class="error">
          {outcome}
          {error !== undefined && `: ${error}`}
        </span>
      )}{' '}
      <TraceLink run={run} scene={scene} />
    </span>
  );
}
