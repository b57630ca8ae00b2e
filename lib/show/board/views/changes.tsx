import type { Change, ChangeKind } from '../data/change.js';
import { type ComponentChildren, Fragment, h } from './templates.js';
import { Axis, Line, Period, Shape, type Span } from './axis.js';
import { each, eachMark, Nothing, Region, type Scene, Table, Time, WhyLink } from './parts.js';

/** The rows, from top to bottom. */
const ROWS: Readonly<Record<ChangeKind, string>> = {
  miss: 'Missed ticks',
  version: 'Versions',
  schedule: 'Schedules',
  switch: 'Switches',
  gone: 'Instances gone',
  outage: 'Store away',
};
const ROW = 22;

/** Recent changes, one row for each kind, so that a viewer sees which came first. */
export function Changes(props: { scene: Scene; changes: readonly Change[]; span: Span }): h.JSX.Element {
  const { scene, changes, span } = props;
  return (
    <Region id="changes" title="What changed" note={`the last ${scene.question.hours} h`}>
      {changes.length === 0 ? (
        <Nothing>
          Nothing is on record: no missed tick, no other version or schedule, no instance gone, no outage.
        </Nothing>
      ) : (
        <Fragment>
          <div class="lanes">
            <span />
            <Axis span={span} times={scene.times} />
            {(Object.keys(ROWS) as ChangeKind[]).map((kind) => (
              <ChangeRow
                key={kind}
                scene={scene}
                span={span}
                kind={kind}
                changes={changes.filter((change) => change.kind === kind)}
              />
            ))}
          </div>
          <details id="changes-list">
            <summary>The same as a list</summary>
            <Table label="What changed, newest first" heads={['When', 'What', '']}>
              {each(changes, (change) => rowOf(change, scene), 3)}
            </Table>
          </details>
        </Fragment>
      )}
    </Region>
  );
}

function ChangeRow(props: {
  scene: Scene;
  span: Span;
  kind: ChangeKind;
  changes: readonly Change[];
}): h.JSX.Element {
  const { scene, span, kind, changes } = props;
  return (
    <Fragment>
      <span class="lane-name">{ROWS[kind]}</span>
      <Line span={span} times={scene.times} height={ROW} label={`${ROWS[kind]}: ${changes.length}`}>
        {eachMark(changes, (change) => (
          <Marked key={change.at} change={change} scene={scene}>
            <title>{`${scene.times.short(change.at)} ${change.text}`}</title>
            {change.to === undefined ? (
              <Shape at={change.at} y={ROW / 2} span={span} kind={change.kind} />
            ) : (
              <Period from={change.at} to={change.to} isOpen={change.isOpen ?? false} span={span} y={5} />
            )}
          </Marked>
        ))}
      </Line>
    </Fragment>
  );
}

/** A missed tick has a link to the answer why; other changes have none. */
function Marked(props: { change: Change; scene: Scene; children?: ComponentChildren }): h.JSX.Element {
  const { change, scene, children } = props;
  const { job, tick } = change;
  if (job === undefined || tick === undefined) return <g>{children}</g>;
  return (
    <WhyLink job={job} at={tick} scene={scene}>
      {children}
    </WhyLink>
  );
}

const rowOf = (change: Change, scene: Scene): h.JSX.Element => (
  <tr key={`${change.at} ${change.text}`}>
    <td>
      <Time at={change.at} times={scene.times} />
    </td>
    <td class="text">{change.text}</td>
    <td>
      {change.job !== undefined && change.tick !== undefined && (
        <WhyLink job={change.job} at={change.tick} scene={scene} />
      )}
    </td>
  </tr>
);
