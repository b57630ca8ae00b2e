import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { type Outage, outagesOf } from '../data/outages.js';
import { Fragment, h } from './templates.js';
import { Axis, Line, Period, type Span } from './axis.js';
import { each, eachMark, Nothing, Region, type Scene, Table, Time } from './parts.js';

const MAX_SHOWN = 30;

/** The times in which instances could not reach the store. */
export function Outages({ scene, span }: { scene: Scene; span: Span }): h.JSX.Element {
  const all = outagesOf(scene.looked.misses);
  const shown = all.slice(0, MAX_SHOWN);
  const inSpan = shown.filter(({ to }) => to >= span.from);
  return (
    <Region
      id="outages"
      title="Outages of the store"
      note="as far as they cost a tick: no instance reports others"
    >
      {shown.length === 0 ? (
        <Nothing>None is on record.</Nothing>
      ) : (
        <Fragment>
          {inSpan.length > 0 && <Spans scene={scene} span={span} outages={inSpan} />}
          <Table
            label="Outages, newest first"
            heads={['From', 'To', 'Took', 'Seen by', 'Jobs that missed a tick']}
          >
            {each(shown, (outage) => rowOf(outage, scene), 5)}
          </Table>
        </Fragment>
      )}
    </Region>
  );
}

function Spans(props: { scene: Scene; span: Span; outages: readonly Outage[] }): h.JSX.Element {
  const { scene, span, outages: inSpan } = props;
  const { times } = scene;
  return (
    <div class="lanes">
      <span />
      <Axis span={span} times={times} />
      <span class="lane-name">Away</span>
      <Line span={span} times={times} height={20} label={`Outages: ${inSpan.length}`}>
        {eachMark(inSpan, ({ from, to, isOver }) => (
          <g key={from}>
            <title>{`${times.short(from)} to ${times.short(to)}${isOver ? '' : ' or later'}`}</title>
            <Period from={from} to={to} isOpen={!isOver} span={span} y={4} />
          </g>
        ))}
      </Line>
    </div>
  );
}

const rowOf = ({ from, to, isOver, instances, jobs }: Outage, { times }: Scene): h.JSX.Element => (
  <tr key={from}>
    <td>
      <Time at={from} times={times} />
    </td>
    <td>
      {!isOver && 'not told: it still went on at '}
      <Time at={to} times={times} />
    </td>
    <td class="number">
      {!isOver && 'at least '}
      {formatDuration(Math.max(1, to - from))}
    </td>
    <td class="text">{some(instances)}</td>
    <td class="text">{some(jobs)}</td>
  </tr>
);

function some(names: readonly string[]): string {
  const shown = names.slice(0, 4).map(displayName).join(', ');
  return names.length > 4 ? `${shown} and ${names.length - 4} more` : shown;
}
