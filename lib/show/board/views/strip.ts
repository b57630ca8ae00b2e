import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { counted } from '../../../base/wording.js';
import type { Times } from '../data/shown.js';
import type { PauseInfo, RunInfo } from '../../../insight/types.js';
import type { Deploy } from '../data/deploys.js';
import type { Outage } from '../data/outages.js';
import type { Bar, Missed, Span, Strip } from '../data/strip.js';
import { h } from './templates.js';
import { eachMark, type Scene, timeOf, whyLink } from './parts.js';

/*
 * A strip of time as SVG. Positions are percentages of the width, so a strip fits any window. There are no inline styles: the policy of
 * the page allows none. What all strips have behind them is drawn once, in the axis above them, and used by each.
 */

type Mark = h.JSX.Element;

const placeOf = (time: number, { from, to }: Span): number =>
  Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100));
const xOf = (time: number, span: Span): string => `${Number(placeOf(time, span).toFixed(2))}%`;
/** A browser does not draw what has no width. */
const LEAST = 0.1;
const widthOf = (from: number, to: number, span: Span): string =>
  `${Number(Math.max(LEAST, placeOf(to, span) - placeOf(from, span)).toFixed(2))}%`;

const title = (text: string): Mark => h('title', null, text);

/** A moment, and a span of time, from top to bottom. */
const upright = (kind: string, at: number, span: Span): Mark =>
  h('line', { class: kind, x1: xOf(at, span), x2: xOf(at, span), y2: '100%' });
const band = (kind: string, from: number, to: number, span: Span): Mark =>
  h('rect', { class: kind, x: xOf(from, span), width: widthOf(from, to, span), height: '100%' });

/** A span of time as a box with a tooltip, so high around the middle of the strip. */
function box(
  kind: string,
  [from, to]: readonly [number, number],
  span: Span,
  high: number,
  text: string,
): Mark {
  const fill = kind === 'pause' ? HATCHED : undefined;
  const place = { x: xOf(from, span), width: widthOf(from, to, span), y: -high, height: 2 * high };
  return h('rect', { class: kind, fill, ...place, rx: 2 }, title(text));
}

const HATCHED = 'url(#hatch)';
const HATCH = h(
  'pattern',
  { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
  h('rect', { class: 'hatch', width: 2, height: 6 }),
);

const HOUR = 3_600_000;
const STEPS = [1, 2, 3, 6, 12, 24, 48].map((hours) => hours * HOUR);
/** How many marks have room beside each other. */
const MARKS = 12;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Full hours, or days, in the zone of the viewer. */
function marksOf({ from, to }: Span, times: Times): { at: number; text: string }[] {
  const step = STEPS.find((each) => (to - from) / each <= MARKS) ?? 48 * HOUR;
  const clockAt = (at: number): number => Date.parse(`${times.full(at).slice(0, 19).replace(' ', 'T')}Z`);
  const offset = clockAt(from) - Math.floor(from / 1_000) * 1_000;
  const marks: { at: number; text: string }[] = [];
  for (let on = Math.ceil((from + offset) / step) * step; on <= to + offset; on += step) {
    // Daylight saving time may begin or end on the strip.
    const at = on - offset + (on - clockAt(on - offset));
    const clock = times.full(at).slice(11, 16);
    const day = new Date(on);
    marks.push({ at, text: clock === '00:00' ? `${DAYS[day.getUTCDay()]} ${day.getUTCDate()}` : clock });
  }
  return marks.filter(({ at }) => at <= to);
}

/** A text above the strips. One that an end would cut off is written inside. */
function label(text: string, at: number, y: number, span: Span): Mark {
  const place = placeOf(at, span);
  const anchor = place < 5 ? 'begin' : place > 95 ? 'end' : undefined;
  return h('text', { class: anchor, x: xOf(at, span), y }, text);
}

/** How far apart labels of one line have to be, percent: of others only the line is drawn. */
const APART = 7;

/** Those of them that have room, the last ones first. */
function withRoom<T>(all: readonly T[], placeOfOne: (one: T) => number, taken: number[] = []): T[] {
  return [...all].reverse().filter((one) => {
    const place = placeOfOne(one);
    const hasRoom = taken.every((other) => Math.abs(other - place) >= APART);
    if (hasRoom) taken.push(place);
    return hasRoom;
  });
}

/** The hours above all strips, with the names of deploys and outages; and what each strip has behind it. */
export function Axis({ scene: { span, times, looked } }: { scene: Scene }): Mark {
  const outages = looked.outages.filter(({ to, from }) => to >= span.from && from <= span.now);
  const deploys = looked.deploys.filter(({ at }) => at >= span.from && at <= span.now);
  const marks = marksOf(span, times);
  const behind = [
    band('ahead', span.now, span.to, span),
    ...marks.map(({ at }) => upright('mark', at, span)),
    ...outages.map(({ from, to }) => band('outage', from, to, span)),
    ...deploys.map(({ at }) => upright('deploy', at, span)),
    upright('now', span.now, span),
  ];
  const named = withRoom(deploys, ({ at }) => placeOf(at, span));
  const away = withRoom(outages, ({ from }) => placeOf(from, span), [placeOf(span.now, span)]);
  return h(
    'svg',
    { class: 'axis', width: '100%', height: 46, role: 'group', 'aria-label': 'Time' },
    h('defs', null, HATCH, h('g', { id: 'behind' }, behind)),
    // A small window shows every other one.
    marks.map(({ at, text }, n) =>
      h('g', { class: n % 2 === 1 ? 'odd' : undefined }, label(text, at, 41, span)),
    ),
    named.map((one) =>
      h('g', { class: 'deployed' }, title(deployText(one, times)), label(nameOf(one), one.at, 11, span)),
    ),
    away.map((one) => h('g', null, title(outageText(one, times)), label('store away', one.from, 25, span))),
    h('g', { class: 'here' }, label('now', span.now, 25, span)),
  );
}

const nameOf = ({ version }: Deploy): string =>
  version === undefined ? 'jobs' : `v${version.replace(/^v/, '').slice(0, 12)}`;

const outageText = ({ from, to, isOver }: Outage, times: Times): string =>
  `The store was away ${times.said(from)}–${times.short(to)}${isOver ? '' : ', or longer: nobody has told when it came back'}`;

function deployText({ at, version, before, instance, jobs }: Deploy, times: Times): string {
  const what = version === undefined ? 'another list of jobs' : `version ${version} after ${before}`;
  const changed = [...jobs].slice(0, 10).map(([job, text]) => `${displayName(job)}: ${text}`);
  return [`${times.said(at)}: ${what}, first on ${displayName(instance)}`, ...changed].join('\n');
}

const DIAMOND = 'M0-8L7 0L0 8L-7 0Z';

/** What ran, what did not, what comes. @param isLinked whether each run has a link: in a long table only those that matter */
export function StripOf(props: { job: string; strip: Strip; scene: Scene; isLinked?: boolean }): Mark {
  const { job, strip, scene, isLinked = false } = props;
  const { span, looked, times } = scene;
  const { bars, misses, pauses, since } = strip;
  const changes = looked.deploys.filter(({ at, jobs }) => at >= span.from && jobs.has(job));
  const marks = [
    h('line', { class: 'ground', x1: xOf(since ?? span.from, span), x2: '100%' }),
    ...(since === undefined ? [] : [unread(since, scene)]),
    ...eachMark(pauses, (pause) =>
      box('pause', [pause.since, pause.until], span, 11, pauseText(pause, times)),
    ),
    ...changes.map((one) =>
      h(
        'svg',
        { x: xOf(one.at, span) },
        title(`${times.said(one.at)}: ${one.jobs.get(job)}`),
        h('path', { class: 'change', d: 'M0-12L5-20L-5-20Z' }),
      ),
    ),
    ...eachMark(bars, (bar) => barOf(job, bar, scene, isLinked)),
    ...eachMark(misses, (miss) => missed(job, miss, scene)),
    ...coming(strip, scene),
  ];
  return h(
    'svg',
    { class: 'strip', role: 'group', 'aria-label': labelOf(strip) },
    h('use', { href: '#behind' }),
    h('svg', { y: '50%' }, marks),
  );
}

/** For whoever does not see the strip. */
function labelOf({ bars, misses, next }: Strip): string {
  const runs = bars.flatMap((bar) => bar.runs);
  return `${counted(runs.length, 'run')}: ${outcomesOf(runs) || 'none'}; ${counted(misses.length, 'missed tick')}; ${next.length === 0 ? 'none' : next.length} to come`;
}

const unread = (since: number, { span, times }: Scene): Mark =>
  h(
    'g',
    null,
    title(
      `Older runs than ${times.said(since)} are not shown here: the page of the job has all that are kept.`,
    ),
    h('line', { class: 'unread', x2: xOf(since, span) }),
    h('rect', { class: 'catch', width: xOf(since, span), y: -10, height: 20 }),
  );

function coming({ next, isOften }: Strip, { span, times }: Scene): Mark[] {
  const [first] = next;
  if (isOften && first !== undefined)
    return [box('often', [first, span.to], span, 2, `Often: next ${times.said(first)}`)];
  return eachMark(next, (at) =>
    h('rect', { class: 'next', x: xOf(at, span), y: -6, width: 2, height: 12 }, title(times.said(at))),
  );
}

function barOf(job: string, { from, to, kind, runs }: Bar, scene: Scene, isLinked: boolean): Mark {
  const { span, times } = scene;
  const [run] = runs;
  if (run === undefined) throw new Error('a bar without a run');
  const begun = `${times.said(runs.at(-1)?.startedAt ?? from)} to ${times.short(run.startedAt)}`;
  const text =
    runs.length === 1
      ? runText(run, times, span.now)
      : `${runs.length} runs from ${begun}: ${outcomesOf(runs)}`;
  const mark = box(`run ${kind}`, [from, to], span, 7, text);
  const worst = runs.find(({ outcome }) => outcome !== 'completed') ?? run;
  return kind === 'completed' && !isLinked
    ? mark
    : h('a', { href: whyLink(job, timeOf(worst), scene) }, mark);
}

/** A run in one line: when, how, for how long, where, and why not. */
function runText(run: RunInfo, times: Times, now: number): string {
  const { startedAt, outcome, hung, duration, instance, attempt = 1, error } = run;
  const isOn = outcome === 'running';
  const took = isOn ? now - startedAt : duration;
  return [
    `${times.said(startedAt)}: ${hung ? 'hangs' : outcome}`,
    took === undefined ? '' : `${isOn ? ' for' : ' after'} ${formatDuration(Math.max(1, took))}`,
    ` on ${displayName(instance)}`,
    attempt > 1 ? `, attempt ${attempt}` : '',
    error === undefined ? '' : `\n${error}`,
  ].join('');
}

function outcomesOf(runs: readonly RunInfo[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
}

const pauseText = ({ since, until, actor, reason }: PauseInfo, times: Times): string =>
  `Paused by ${actor} ${times.said(since)}–${times.said(until)}${reason === undefined ? '' : `: ${reason}`}`;

function missed(job: string, { tick, since, notes }: Missed, scene: Scene): Mark {
  const { span, times } = scene;
  const text = [`${times.said(tick)}: nobody started this tick`, ...notes.slice(0, 6)].join('\n');
  return h(
    'a',
    { href: whyLink(job, tick, scene) },
    ...(since === undefined ? [] : [box('row', [since, tick], span, 1, text)]),
    h('svg', { x: xOf(tick, span) }, title(text), h('path', { class: 'missed', d: DIAMOND })),
  );
}

const SAMPLES: readonly (readonly [kind: string, text: string])[] = [
  ['run completed', 'completed'],
  ['run running', 'running'],
  ['run failed', 'failed or hangs'],
  ['run interrupted', 'interrupted'],
  ['missed', 'missed tick'],
  ['pause', 'paused'],
  ['next', 'to come'],
  ['outage', 'store away'],
];

function sampleOf(kind: string): Mark {
  const fill = kind === 'pause' ? HATCHED : undefined;
  const mark =
    kind === 'missed'
      ? h('path', { class: kind, transform: 'translate(8 8)', d: DIAMOND })
      : h('rect', { class: kind, fill, y: 1, width: '100%', height: 14, rx: 2 });
  return h('svg', { width: kind === 'next' ? 2 : 16, height: 16, 'aria-hidden': 'true' }, mark);
}

/** What the marks mean. */
export const Legend = (): Mark =>
  h('ul', { class: 'legend' }, ...SAMPLES.map(([kind, text]) => h('li', null, sampleOf(kind), text)));
