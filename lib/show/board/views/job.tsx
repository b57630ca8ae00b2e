import { formatDuration } from '../../../base/duration.js';
import { evidenceOf } from '../data/evidence.js';
import { scheduleOf } from '../../../insight/shown.js';
import { timesIn } from '../../../insight/times.js';
import type { JobView, RunInfo, Why } from '../../../insight/types.js';
import { displayName } from '../../../base/lock-name.js';
import { costOf, usualOf } from '../data/cost.js';
import { kindOf } from '../data/lanes.js';
import { lockOf, NOTHING_KEPT, sentenceIn } from '../data/looked.js';
import { type ComponentChildren, h } from './templates.js';
import { eachMark, lasting, Region, type Scene, Status, Time, timeOf, WhyLink } from './parts.js';
import { Run } from './jobs.js';
import { linkTo } from '../data/question.js';
import { SHARED } from '../data/snapshots.js';

/** One job: its state, and all that is known of the job. */
export function Job({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const { times, question, looked } = scene;
  const { runs } = looked.kept.get(view.job) ?? NOTHING_KEPT;
  const { since, clauses } = costOf(looked, view);
  const sentence = sentenceIn(looked.facts.get(view.job), view, timesIn(question.zone));
  return (
    <Region id="job" title={displayName(view.job)}>
      <p>
        <Status view={view} />
        {view.attention && since !== undefined && (
          <span class="faint">
            {' '}
            since <Time at={since} times={times} />
          </span>
        )}
      </p>
      {sentence !== undefined && <p class="sentence">{sentence}</p>}
      {clauses.length > 0 && (
        <p class="cost">
          {view.attention ? 'Cost so far: ' : ''}
          {clauses.join(' · ')}
        </p>
      )}
      <Facts scene={scene} view={view} />
      <Durations runs={runs} scene={scene} />
    </Region>
  );
}

function Facts({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const { times, question, looked } = scene;
  const { runs } = looked.kept.get(view.job) ?? NOTHING_KEPT;
  const usual = usualOf(runs);
  const lock = lockOf(looked, view)?.lock;
  return (
    <dl class="facts">
      <Fact name="Schedule">{scheduleOf(view, question.zone)}</Fact>
      <Fact name="Next">
        <Time at={view.next} times={times} />
      </Fact>
      <Fact name="Last success">
        <Run run={runs.find(({ outcome }) => outcome === 'completed')} scene={scene} />
      </Fact>
      <Fact name="Last error">
        <Run run={runs.find((run) => !['completed', 'running'].includes(kindOf(run)))} scene={scene} />
      </Fact>
      <Fact name="Usually takes">{usual === undefined ? 'not known' : formatDuration(usual)}</Fact>
      <Fact name="Lock">
        {view.lock === undefined ? 'made from the arguments of each call' : displayName(view.lock)}
        {lock !== undefined && `, ${lock.state}`}
      </Fact>
      <Fact name="Instances">
        {view.instances.length === 0 ? 'none is up' : view.instances.slice(0, 8).map(displayName).join(', ')}
        {view.instances.length > 8 && ` and ${view.instances.length - 8} more`}
      </Fact>
    </dl>
  );
}

const Fact = ({ name, children }: { name: string; children?: ComponentChildren }): h.JSX.Element => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** How many runs are compared. */
const MAX_COMPARED = 40;

/** How long the runs of a job took, the oldest first. */
function Durations({ runs, scene }: { runs: readonly RunInfo[]; scene: Scene }): h.JSX.Element {
  const ended = runs
    .filter(({ duration }) => duration !== undefined)
    .slice(0, MAX_COMPARED)
    .reverse();
  const longest = Math.max(...ended.map(({ duration = 0 }) => duration), 1);
  if (ended.length < 2) return <p class="note">Too few runs are kept to compare how long they took.</p>;
  return (
    <figure>
      <svg
        class="durations"
        width="100%"
        height="70"
        role="group"
        aria-label={`How long the last ${ended.length} runs took`}
      >
        {eachMark([...ended.entries()], ([n, run]) => {
          const height = Math.max(2, ((run.duration ?? 0) / longest) * 64);
          return (
            <WhyLink key={run.fencingToken} job={run.job ?? ''} at={timeOf(run)} scene={scene}>
              <title>{`${scene.times.short(run.startedAt)} ${run.outcome}, ${formatDuration(run.duration ?? 0)}`}</title>
              <rect
                class={`run ${kindOf(run)}`}
                x={`${((MAX_COMPARED - ended.length + n) / MAX_COMPARED) * 100}%`}
                width={`${80 / MAX_COMPARED}%`}
                y={70 - height}
                height={height}
                rx="1"
              />
            </WhyLink>
          );
        })}
      </svg>
      <figcaption class="note">
        How long the last {ended.length} runs took, the newest on the right; the highest is{' '}
        {formatDuration(longest)}.
      </figcaption>
    </figure>
  );
}

/** Why a job ran at a time, or did not. Its link is permanent. */
export function Answer(props: { scene: Scene; answer: Why; age: number; at: number }): h.JSX.Element {
  const { scene, answer, age, at } = props;
  const { times, question } = scene;
  const link = linkTo({ ...lasting(question), job: answer.job, at });
  return (
    <Region id="answer" title={`Why: ${displayName(answer.job)}, ${times.full(answer.tick ?? at)}`}>
      <p class="sentence">{answer.sentence}</p>
      <dl class="facts">
        {evidenceOf(answer, times).map(([name, value], n) => (
          <Fact key={n} name={name}>
            {value}
          </Fact>
        ))}
      </dl>
      <p class="note">
        {age >= SHARED && `As of ${formatDuration(age)} ago. `}
        <a href={link}>Link to this answer</a>
      </p>
    </Region>
  );
}
