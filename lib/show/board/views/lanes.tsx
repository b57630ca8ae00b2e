import { displayName } from '../../../base/lock-name.js';
import { type Bar, kindOf, type Track, MOST_LANES } from '../data/lanes.js';
import { HOURS, linkTo } from '../data/question.js';
import { Fragment, h } from './templates.js';
import { Axis, Line, xOf, Shape, type Span, widthOf } from './axis.js';
import {
  each,
  eachMark,
  lasting,
  Nothing,
  Outcome,
  Region,
  type Scene,
  Table,
  Time,
  timeOf,
  took,
  WhyLink,
} from './parts.js';

const LINE = 16;

/** Which instance ran what, and when: a lane for each instance. */
export function Lanes(props: { scene: Scene; lanes: readonly Track[]; span: Span }): h.JSX.Element {
  const { scene, lanes, span } = props;
  const shown = lanes.slice(0, MOST_LANES);
  const more = lanes.length - shown.length;
  const bars = shown.flatMap((lane) => lane.bars);
  return (
    <Region id="lanes" title="Runs by instance" note="each leads to why">
      <Hours scene={scene} />
      {lanes.length === 0 ? (
        <Nothing>No instance was up, and nothing ran.</Nothing>
      ) : (
        <div class="lanes">
          <span />
          <Axis span={span} times={scene.times} />
          {shown.map((lane) => (
            <LaneRow key={lane.instance} scene={scene} lane={lane} span={span} />
          ))}
          <Missed scene={scene} span={span} />
        </div>
      )}
      {more > 0 && <p class="note">And {more} instances more, by name.</p>}
      <Legend />
      <Waiting scene={scene} />
      {bars.length > 0 && (
        <details id="lanes-list">
          <summary>The same as a list</summary>
          <RunsTable scene={scene} bars={bars} />
        </details>
      )}
    </Region>
  );
}

/** These links are the same for all who get this part: what a viewer is looking for is not in them. */
const Hours = ({ scene: { question } }: { scene: Scene }): h.JSX.Element => (
  <p class="choices">
    Last{' '}
    {HOURS.map((hours) => (
      <Fragment key={hours}>
        <a
          href={linkTo({
            ...lasting(question),
            ...(question.job !== undefined && { job: question.job }),
            hours,
          })}
          {...(hours === question.hours && { 'aria-current': 'true' as const })}
        >
          {hours} h
        </a>{' '}
      </Fragment>
    ))}
  </p>
);

function LaneRow({ scene, lane, span }: { scene: Scene; lane: Track; span: Span }): h.JSX.Element {
  const { instance, info, bars, lines, gaps, hidden } = lane;
  const height = lines * LINE + 8;
  return (
    <Fragment>
      <span class={`lane-name ${info?.state ?? 'left'}`} title={instance}>
        {displayName(instance)}
        {info !== undefined && info.state !== 'up' && <span class="faint"> {info.state}</span>}
        {hidden > 0 && <span class="faint"> +{hidden}</span>}
      </span>
      <Line
        span={span}
        times={scene.times}
        height={height}
        label={`Runs on ${displayName(instance)}: ${bars.length}`}
      >
        {eachMark(gaps, ({ from, to }) => (
          <rect
            key={from}
            class="gap"
            x={xOf(from, span)}
            width={widthOf(to - from, span)}
            y="0"
            height={height}
          >
            <title>not up</title>
          </rect>
        ))}
        {eachMark(bars, (bar) => (
          <RunBar key={bar.run.fencingToken} scene={scene} bar={bar} span={span} />
        ))}
      </Line>
    </Fragment>
  );
}

function RunBar({ scene, bar, span }: { scene: Scene; bar: Bar; span: Span }): h.JSX.Element {
  const { run, from, to, line, overlaps } = bar;
  const kind = kindOf(run);
  const y = 4 + line * LINE;
  const start = Math.max(from, span.from);
  const again = (run.attempt ?? 1) > 1;
  const what = [run.job ?? `lock ${run.lock}`, run.hung ? 'hung' : run.outcome, took(run, scene.looked.now)];
  const text = [...what, again ? `run ${run.attempt}` : '', overlaps ? 'overlaps another run' : '']
    .filter(Boolean)
    .join(', ');
  const shapes = (
    <Fragment>
      <title>{`${scene.times.short(from)} ${text}`}</title>
      <rect
        class={`run ${kind}${overlaps ? ' overlap' : ''}${again ? ' again' : ''}`}
        x={xOf(start, span)}
        width={widthOf(to - start, span)}
        y={y}
        height={LINE - 4}
        rx="2"
      />
      {kind !== 'completed' && kind !== 'running' && (
        <Shape at={start} y={y + (LINE - 4) / 2} span={span} kind="cross" d="M-3-3L3 3M3-3L-3 3" />
      )}
    </Fragment>
  );
  if (run.job === undefined) return <g>{shapes}</g>;
  return (
    <WhyLink job={run.job} at={timeOf(run)} scene={scene}>
      {shapes}
    </WhyLink>
  );
}

/** How many missed ticks are drawn. */
const MOST_MISSED = 200;

/** The ticks that no instance started. */
function Missed({ scene, span }: { scene: Scene; span: Span }): h.JSX.Element {
  const seen = new Map<string, { job: string; tick: number }>();
  for (const { job, tick } of scene.looked.misses)
    if (tick >= span.from && seen.size < MOST_MISSED) seen.set(JSON.stringify([job, tick]), { job, tick });
  const missed = [...seen.values()];
  return (
    <Fragment>
      <span class="lane-name">Nobody</span>
      <Line span={span} times={scene.times} height={24} label={`Missed ticks: ${missed.length}`}>
        {eachMark(missed, ({ job, tick }) => (
          <WhyLink key={`${job} ${tick}`} job={job} at={tick} scene={scene}>
            <title>{`${scene.times.short(tick)} ${job}, missed`}</title>
            <Shape at={tick} y={12} span={span} kind="miss" />
          </WhyLink>
        ))}
      </Line>
    </Fragment>
  );
}

const Legend = (): h.JSX.Element => (
  <ul class="legend">
    {['completed', 'running', 'failed', 'interrupted', 'again', 'overlap'].map((kind) => (
      <li key={kind}>
        <svg width="22" height="12" aria-hidden="true">
          <rect
            class={`run ${kind === 'again' || kind === 'overlap' ? `completed ${kind}` : kind}`}
            x="1"
            y="1"
            width="20"
            height="10"
            rx="2"
          />
          {(kind === 'failed' || kind === 'interrupted') && <path class="cross" d="M8 3L14 9M14 3L8 9" />}
        </svg>{' '}
        {LEGEND[kind] ?? kind}
      </li>
    ))}
    <li>
      <svg width="12" height="12" aria-hidden="true">
        <path class="miss" d="M6 1L11 6L6 11L1 6Z" />
      </svg>{' '}
      missed
    </li>
    <li>
      <svg width="22" height="12" aria-hidden="true">
        <rect class="gap" width="22" height="12" />
      </svg>{' '}
      not up
    </li>
  </ul>
);

const LEGEND: Readonly<Record<string, string>> = { again: 'run again', overlap: 'overlaps' };

/** How many calls wait for a lock, in line or queued. The list of locks says which. */
function Waiting({ scene }: { scene: Scene }): h.JSX.Element {
  const waiting = [...scene.looked.locks.values()].flatMap(({ lock }) => {
    const count = (lock?.queued ?? 0) + (lock?.line?.length ?? 0);
    return lock !== undefined && count > 0 ? [{ name: lock.name, count }] : [];
  });
  if (waiting.length === 0) return <p class="note">No call waits for its run.</p>;
  const some = waiting.slice(0, 10).map(({ name, count }) => `${displayName(name)} (${count})`);
  const rest = waiting.length - some.length;
  return (
    <p>
      Calls that wait for their run: {some.join(', ')}
      {rest > 0 && ` and ${rest} locks more`}.
    </p>
  );
}

/** How many runs of a list are shown. */
const MOST_ROWS = 100;

function RunsTable({
  scene,
  bars,
}: {
  scene: Scene;
  bars: readonly Pick<Bar, 'run' | 'overlaps'>[];
}): h.JSX.Element {
  const newest = [...bars]
    .sort((one, other) => other.run.fencingToken - one.run.fencingToken)
    .slice(0, MOST_ROWS);
  return (
    <Table label="Runs, newest first" heads={['Started', 'Job', 'Outcome', 'Took', 'Tick', 'Instance', '']}>
      {each(newest, (bar) => runRow(bar, scene), 7)}
    </Table>
  );
}

function runRow({ run, overlaps }: Pick<Bar, 'run' | 'overlaps'>, scene: Scene): h.JSX.Element {
  const again = (run.attempt ?? 1) > 1 ? ` (run ${run.attempt})` : '';
  return (
    <tr key={run.fencingToken}>
      <td>
        <Time at={run.startedAt} times={scene.times} />
      </td>
      <td class="name">{displayName(run.job ?? `lock ${run.lock}`)}</td>
      <td>
        <Outcome run={run} />
        {overlaps && ' overlaps'}
      </td>
      <td class="number">{took(run, scene.looked.now)}</td>
      <td>
        <Time at={run.tick} times={scene.times} />
        {again}
      </td>
      <td class="name">{displayName(run.instance)}</td>
      <td>{run.job !== undefined && <WhyLink job={run.job} at={timeOf(run)} scene={scene} />}</td>
    </tr>
  );
}
