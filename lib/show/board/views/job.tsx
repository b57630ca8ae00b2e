import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { hasFailed, type JobFacts, wasInterrupted } from '../../../insight/facts.js';
import { scheduleOf, type Times } from '../data/shown.js';
import type { ControlInfo, JobView, RunInfo, Why } from '../../../insight/types.js';
import { evidenceOf } from '../data/evidence.js';
import { lasting, linkTo } from '../data/question.js';
import { type ComponentChildren, Fragment, h } from './templates.js';
import {
  each,
  Region,
  type Scene,
  sentenceIn,
  Since,
  Status,
  Time,
  timeOf,
  TraceLink,
  whyLink,
} from './parts.js';
import type { Strip } from '../data/strip.js';
import { Axis, Legend, StripOf } from './strip.js';
import { Windows } from './table.js';

/** All that is known of one job. */
export interface Known {
  readonly view: JobView;
  readonly facts: JobFacts;
  readonly controls: readonly ControlInfo[];
  /** Why not all that is kept could be read. */
  readonly failure?: string;
  /** A deploy has removed it: when, and with which version, if that is known. */
  readonly removed?: { readonly at?: number; readonly version?: string } | undefined;
}

/** One job: its state, why, and what ran. */
export function Job(props: { scene: Scene; known: Known; strip: Strip }): h.JSX.Element {
  const { scene, known, strip } = props;
  const { times } = scene;
  const { view, facts, removed } = known;
  const { job, why, since, sinceAtLeast } = view;
  return (
    <section id="job" class="region" data-live aria-labelledby="job-title">
      <header>
        <h2 id="job-title">{displayName(job)}</h2>
        {removed === undefined ? <Status view={view} /> : <span class="status plain">○ removed</span>}
        {removed === undefined && <Since since={since} sinceAtLeast={sinceAtLeast} times={times} />}
        <Windows scene={scene} />
      </header>
      <p class="sentence">
        {removed === undefined ? why && sentenceIn(facts, why, times) : removedText(known, times)}
      </p>
      <div class="picture alone">
        <Axis scene={scene} />
        <div class="over">
          <StripOf job={job} strip={strip} scene={scene} isLinked />
        </div>
        <Legend />
      </div>
      <Facts scene={scene} known={known} />
      <Durations runs={facts.runs} />
      <Ask scene={scene} job={job} />
    </section>
  );
}

function Facts({ scene, known: { view, facts } }: { scene: Scene; known: Known }): h.JSX.Element {
  const { runs, lock } = facts;
  const bad = runs.find((run) => hasFailed(run) || wasInterrupted(run));
  const good = runs.find(({ outcome }) => outcome === 'completed');
  const lockName = view.lock === undefined ? 'made from the arguments of each call' : displayName(view.lock);
  const instances = view.instances.slice(0, 8).map(displayName).join(', ');
  const more = view.instances.length - 8;
  return (
    <dl class="facts">
      <Fact name="Last success">
        <Run run={good} scene={scene} facts={facts} />
      </Fact>
      <Fact name="Last error">
        <Run run={bad} scene={scene} facts={facts} />
      </Fact>
      <Fact name="Next">
        <Time at={view.next} times={scene.times} />
      </Fact>
      <Fact name="Schedule">{scheduleOf(view, scene.question.zone)}</Fact>
      <Fact name="Lock">{lock === undefined ? lockName : `${lockName}, ${lock.state}`}</Fact>
      <Fact name="Instances">{more > 0 ? `${instances} and ${more} more` : instances || 'none is up'}</Fact>
    </dl>
  );
}

function removedText({ removed, facts: { runs } }: Known, times: Times): string {
  const version = removed?.version === undefined ? '' : ` with version ${removed.version}`;
  const when = removed?.at === undefined ? '' : ` (${times.said(removed.at)})`;
  const last = runs[0] === undefined ? '' : `; it last ran ${times.said(runs[0].startedAt)}`;
  return `A deploy has removed it${version}${when}${last}.`;
}

const Fact = ({ name, children }: { name: string; children?: ComponentChildren }): h.JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** A run: when, how long, and the error that it threw. */
function Run({
  run,
  scene,
  facts,
}: {
  run: RunInfo | undefined;
  scene: Scene;
  facts: JobFacts;
}): h.JSX.Element {
  const { times } = scene;
  if (run?.job === undefined)
    return (
      <span class="faint">
        none{facts.since !== undefined && ' since '}
        {facts.since !== undefined && <Time at={facts.since} times={times} />}
        {facts.since !== undefined && ': older runs are not kept'}
      </span>
    );
  const { error, outcome, job, duration } = run;
  return (
    <Fragment>
      <a href={whyLink(job, timeOf(run), scene)}>
        <Time at={run.startedAt} times={times} />
      </a>{' '}
      {duration !== undefined && <span class="faint">{formatDuration(duration)} </span>}
      {outcome !== 'completed' && (
        <span class="error">
          {outcome}
          {error !== undefined && `: ${error}`}{' '}
        </span>
      )}
      <TraceLink run={run} scene={scene} />
    </Fragment>
  );
}

/** How many runs are compared. */
const MAX_COMPARED = 100;
const HIGH = 40;

/** How long the runs of a job took, the newest on the right. */
function Durations({ runs }: { runs: readonly RunInfo[] }): h.JSX.Element {
  const took = runs
    .flatMap(({ duration }) => duration ?? [])
    .slice(0, MAX_COMPARED)
    .reverse();
  if (took.length < 2) return <Fragment />;
  const [least, most] = [Math.min(...took), Math.max(...took)];
  const points = took.map(
    (duration, n) => `${(n / (took.length - 1)) * 100},${HIGH - (duration / Math.max(1, most)) * (HIGH - 2)}`,
  );
  return (
    <figure class="durations">
      <svg
        viewBox={`0 0 100 ${HIGH}`}
        preserveAspectRatio="none"
        width="100%"
        height={HIGH}
        aria-hidden="true"
      >
        <polyline points={points.join(' ')} />
      </svg>
      <figcaption class="note">
        The last {took.length} runs took {formatDuration(least)} to {formatDuration(most)}; the newest is on
        the right.
      </figcaption>
    </figure>
  );
}

/** Asks why it ran at a time, or did not. */
function Ask({ scene: { question }, job }: { scene: Scene; job: string }): h.JSX.Element {
  return (
    <form class="find" method="get">
      <input type="hidden" name="job" value={job} />
      {question.zone !== 'UTC' && <input type="hidden" name="zone" value={question.zone} />}
      <label>
        Why did it run, or not run, at <input type="datetime-local" name="at" required />
      </label>
      <button type="submit" class="quiet">
        Ask
      </button>
    </form>
  );
}

/** Why a job ran at a time, or did not. Its link is permanent. */
export function Answer(props: { scene: Scene; why: Why; facts?: JobFacts; at: number }): h.JSX.Element {
  const { scene, why, facts, at } = props;
  const { times, question } = scene;
  const link = linkTo({ ...lasting(question), job: why.job, at });
  return (
    <Region
      id="answer"
      cause={why.cause}
      title={`Why: ${displayName(why.job)}, ${times.said(why.tick ?? at)}`}
    >
      <p class="sentence">{sentenceIn(facts, why, times)}</p>
      <dl class="facts">
        {evidenceOf(why, times).map(([name, value], n) => (
          <Fact key={n} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
      <p class="note">
        <a href={link}>Link to this answer</a>
      </p>
    </Region>
  );
}

const ACTS: Readonly<Record<ControlInfo['action'], string>> = {
  pause: 'paused it',
  resume: 'resumed it',
  break: 'ended its lease',
  run: 'ran it',
  redeliver: 'put dead letters back',
};

/** Who did what to the job. */
export function Acts({ scene, known: { controls } }: { scene: Scene; known: Known }): h.JSX.Element {
  return (
    <Region id="acts" title="Who did what">
      <ul class="acts">
        {each(controls, ({ at, actor, action, reason }) => (
          <li key={at}>
            <Time at={at} times={scene.times} /> {actor} {ACTS[action]}
            {reason !== undefined && ` (${reason})`}
          </li>
        ))}
      </ul>
    </Region>
  );
}
