import { formatDuration } from '../../../base/duration.js';
import { timesIn } from '../../../insight/times.js';
import { isZone } from '../data/question.js';
import { type Fires as Firing, MOST_FIRES, MOST_FIRING } from '../data/fires.js';
import { Fragment, h } from './templates.js';
import { Line, Shape, type Span } from './axis.js';
import { each, eachMark, JobLink, Nothing, Region, type Scene, Table, Time } from './parts.js';

/** The next fires, in the zone of the viewer and in the zone of each job. */
export function Fires({
  scene,
  fires,
  span,
}: {
  scene: Scene;
  fires: readonly Firing[];
  span: Span;
}): h.JSX.Element {
  return (
    <Region
      id="fires"
      title="The next 24 hours"
      note={`times in ${scene.question.zone}; at most ${MOST_FIRING} jobs`}
    >
      {fires.length === 0 ? (
        <Nothing>No fire is known: no instance is up, or all jobs are started by hand.</Nothing>
      ) : (
        <Table
          label="The next fires of each job"
          heads={['Job', 'Next', 'In the zone of the job', 'How often', 'From now to 24 h']}
        >
          {each(fires, (each) => rowOf(each, scene, span), 5)}
        </Table>
      )}
    </Region>
  );
}

function rowOf(firing: Firing, scene: Scene, span: Span): h.JSX.Element {
  const { job: view, next, at, isFrequent, change } = firing;
  const { job, timeZone, paused } = view;
  const often = isFrequent
    ? `more than ${MOST_FIRES} times`
    : at.length === 1
      ? 'once'
      : `${at.length} times`;
  return (
    <tr key={job}>
      <th scope="row">
        <JobLink job={job} scene={scene} />
      </th>
      <td>
        <Time at={next} times={scene.times} />{' '}
        {paused !== undefined && (
          <span class="status doubt">
            <span aria-hidden="true">‖</span> paused until <Time at={paused.until} times={scene.times} />
          </span>
        )}
      </td>
      <td>
        {timeZone !== undefined && isZone(timeZone)
          ? `${timesIn(timeZone)(next).slice(11, 16)} ${timeZone}`
          : timeZone}
        {change && (
          <span class="status doubt">
            {' '}
            <span aria-hidden="true">◆</span> clocks go {change.by > 0 ? 'forward' : 'back'}{' '}
            {formatDuration(Math.abs(change.by))} at <Time at={change.at} times={scene.times} />
          </span>
        )}
      </td>
      <td>{often}</td>
      <td class="strip">
        <Strip fires={firing} often={often} scene={scene} span={span} />
      </td>
    </tr>
  );
}

function Strip(props: { fires: Firing; often: string; scene: Scene; span: Span }): h.JSX.Element {
  const { fires, often, scene, span } = props;
  const { job, at, isFrequent, change } = fires;
  return (
    <Line span={span} times={scene.times} height={16} label={`Fires of ${job.job}: ${often}`}>
      {isFrequent ? (
        <rect class="often" x="0" width="100%" y="5" height="6" />
      ) : (
        <Fragment>
          {eachMark(at, (each) => (
            <Shape key={each} at={each} y={8} span={span} kind="fire" d="M0-5V5" />
          ))}
        </Fragment>
      )}
      {change && <Shape at={change.at} y={8} span={span} kind="dst" />}
    </Line>
  );
}
