import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { counted } from '../../../base/wording.js';
import { textOf } from '../../../insight/phrases.js';
import type { Times } from '../../../insight/shown.js';
import type { JobFacts } from '../../../insight/facts.js';
import type { JobView, PauseInfo, RunInfo } from '../../../insight/types.js';
import type { Deploy } from '../data/deploys.js';
import { type Outage, shownSince } from '../data/looked.js';
import { type Bar, barsOf, type Missed, missesOf, MOST_NEXT, type Span } from '../data/strip.js';
import { type Content, each, type Markup, markup } from './markup.js';
import { type Scene, timeOf, whyLink } from './parts.js';

/*
 * A strip of time as SVG. Positions are percentages of the width, so a strip fits any window. There are no inline styles: the policy of
 * the page allows none. What all strips have behind them is drawn once, in the axis above them, and used by each.
 */

const placeOf = (time: number, { from, to }: Span): number =>
  Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100));
const xOf = (time: number, span: Span): string => `${Number(placeOf(time, span).toFixed(2))}%`;
/** A browser does not draw what has no width. */
const LEAST = 0.1;
const widthOf = (from: number, to: number, span: Span): string =>
  `${Number(Math.max(LEAST, placeOf(to, span) - placeOf(from, span)).toFixed(2))}%`;

/** A moment, and a span of time, from top to bottom. */
const upright = (kind: string, at: number, span: Span): Markup =>
  markup`<line class="${kind}" x1="${xOf(at, span)}" x2="${xOf(at, span)}" y2="100%"/>`;
const band = (kind: string, from: number, to: number, span: Span): Markup =>
  markup`<rect class="${kind}" x="${xOf(from, span)}" width="${widthOf(from, to, span)}" height="100%"/>`;

const HATCHED = markup` fill="url(#hatch)"`;
const HATCH = markup`<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="2" height="6"/></pattern>`;

/** A span of time as a box with a tooltip, so high around the middle of the strip. */
const box = (
  kind: string,
  [from, to]: readonly [number, number],
  span: Span,
  high: number,
  text: string,
): Markup =>
  markup`<rect class="${kind}" x="${xOf(from, span)}" width="${widthOf(from, to, span)}" y="${-high}" height="${2 * high}" rx="2"${kind === 'pause' && HATCHED}><title>${text}</title></rect>`;

const HOUR = 3_600_000;

/** Full hours, or days, in the zone of the viewer: as many as have room beside each other. */
function marksOf({ from, to }: Span, times: Times): { at: number; text: string }[] {
  const every = to - from <= 12 * HOUR ? 1 : to - from <= 36 * HOUR ? 3 : 24;
  const minutes = Number(times.full(from).slice(14, 16));
  const marks: { at: number; text: string }[] = [];
  for (let at = from - (from % 60_000) - minutes * 60_000 + HOUR; at <= to; at += HOUR) {
    const full = times.full(at);
    const hour = Number(full.slice(11, 13));
    const day = new Date(full.slice(0, 10)).toUTCString().slice(0, 7).replace(',', '');
    if (hour % every === 0) marks.push({ at, text: hour === 0 ? day : full.slice(11, 16) });
  }
  return marks;
}

/** A text above the strips. One that an end would cut off is written inside. */
function label(text: string, at: number, y: number, span: Span): Markup {
  const place = placeOf(at, span);
  const anchor = place < 5 ? 'begin' : place > 95 && 'end';
  return markup`<text class="${anchor}" x="${xOf(at, span)}" y="${y}">${text}</text>`;
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
export function axis({ span, times, looked }: Scene): Markup {
  const outages = looked.outages.filter(({ to, from }) => to >= span.from && from <= span.now);
  const deploys = looked.deploys.filter(({ at }) => at >= span.from && at <= span.now);
  const marks = marksOf(span, times);
  const behind = [
    band('ahead', span.now, span.to, span),
    marks.map(({ at }) => upright('mark', at, span)),
    outages.map(({ from, to }) => band('outage', from, to, span)),
    deploys.map(({ at }) => upright('deploy', at, span)),
    upright('now', span.now, span),
  ];
  const named = withRoom(deploys, ({ at }) => placeOf(at, span));
  const away = withRoom(outages, ({ from }) => placeOf(from, span), [placeOf(span.now, span)]);
  // A small window shows every other one.
  const hours = marks.map(
    ({ at, text }, n) => markup`<g class="${n % 2 === 1 && 'odd'}">${label(text, at, 41, span)}</g>`,
  );
  return markup`<svg class="axis" width="100%" height="46" role="group" aria-label="Time">
    <defs>${HATCH}<g id="behind">${behind}</g></defs>${hours}
    ${outages.map((one) => markup`<g><title>${outageText(one, times)}</title>${band('outage', one.from, one.to, span)}${away.includes(one) && label('store away', one.from, 25, span)}</g>`)}
    ${named.map((one) => markup`<g class="deployed"><title>${deployText(one, times)}</title>${label(nameOf(one), one.at, 11, span)}</g>`)}
    <g class="here">${label('now', span.now, 25, span)}</g></svg>`;
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
export function stripLine(facts: JobFacts, view: JobView, scene: Scene, isLinked = false): Markup {
  const { span, looked, times, coming } = scene;
  const { job } = view;
  const bars = barsOf(facts, span);
  const misses = missesOf(facts, view, span.from);
  const next = coming.of(facts, view, span.to);
  const pauses = (facts.pauses ?? []).filter(({ until, since }) => until >= span.from && since <= span.to);
  const since = shownSince(facts, looked.most) ?? 0;
  const changes = looked.deploys.filter(({ at, jobs }) => at >= span.from && jobs.has(job));
  const changed = changes.map(
    (one) =>
      markup`<svg x="${xOf(one.at, span)}"><title>${times.said(one.at)}: ${one.jobs.get(job)}</title><path class="change" d="M0-12L5-20L-5-20Z"/></svg>`,
  );
  const runs = bars.flatMap((bar) => bar.runs);
  // For whoever does not see the strip.
  const label = `${counted(runs.length, 'run')}: ${outcomesOf(runs) || 'none'}; ${counted(misses.length, 'missed tick')}; ${next.length || 'none'} to come`;
  return markup`<svg class="strip" role="group" aria-label="${label}"><use href="#behind"/><svg y="50%">
    <line class="ground" x1="${xOf(since, span)}" x2="100%"/>${since > span.from && unread(since, scene)}
    ${each(pauses, (pause) => box('pause', [pause.since, pause.until], span, 11, pauseText(pause, times)))}${changed}
    ${each(bars, (bar) => barOf(job, bar, scene, isLinked))}${each(misses, (miss) => missed(job, miss, scene))}${dates(next, scene)}</svg></svg>`;
}

function unread(since: number, { span, times }: Scene): Markup {
  const text = `Older runs than ${times.said(since)} are not shown here: the page of the job has all that are kept.`;
  const x = xOf(since, span);
  return markup`<g><title>${text}</title><line class="unread" x2="${x}"/><rect class="catch" width="${x}" y="-10" height="20"/></g>`;
}

/** The dates to come. */
function dates(next: readonly number[], { span, times }: Scene): Content {
  const [first = span.to] = next;
  if (next.length > MOST_NEXT)
    return box('often', [first, span.to], span, 2, `Often: next ${times.said(first)}`);
  return next.map(
    (at) =>
      markup`<rect class="next" x="${xOf(at, span)}" y="-6" width="2" height="12"><title>${times.said(at)}</title></rect>`,
  );
}

function barOf(job: string, { from, to, kind, runs }: Bar, scene: Scene, isLinked: boolean): Markup {
  const { span, times } = scene;
  const [run] = runs;
  if (run === undefined) throw new Error('a bar without a run');
  const begun = `${times.said(runs.at(-1)?.startedAt ?? from)} to ${times.short(run.startedAt)}`;
  const error = run.error === undefined ? '' : `\n${run.error}`;
  const text =
    runs.length === 1
      ? `${runText(run, times)}${error}`
      : `${runs.length} runs from ${begun}: ${outcomesOf(runs)}`;
  const mark = box(`run ${kind}`, [from, to], span, 7, text);
  const worst = runs.find(({ outcome }) => outcome !== 'completed') ?? run;
  return kind === 'completed' && !isLinked
    ? mark
    : markup`<a href="${whyLink(job, timeOf(worst), scene)}">${mark}</a>`;
}

/** A run in one line: when, how, for how long, and where. */
export function runText(run: RunInfo, times: Times): string {
  const { startedAt, outcome, hung, duration, instance, attempt = 1, shortfall, report = {} } = run;
  const isOn = outcome === 'running';
  const took = isOn ? times.now - startedAt : duration;
  return [
    `${times.said(startedAt)}: ${hung ? 'hangs' : outcome}`,
    took === undefined ? '' : `${isOn ? ' for' : ' after'} ${formatDuration(Math.max(1, took))}`,
    ` on ${displayName(instance)}`,
    attempt > 1 ? `, attempt ${attempt}` : '',
    ...[shortfall, textOf(report)].map((text) => (text ? `, ${text}` : '')),
  ].join('');
}

function outcomesOf(runs: readonly RunInfo[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ');
}

const pauseText = ({ since, until, actor, reason }: PauseInfo, times: Times): string =>
  `Paused by ${actor} ${times.said(since)}–${times.said(until)}${reason === undefined ? '' : `: ${reason}`}`;

function missed(job: string, { tick, since, notes }: Missed, scene: Scene): Markup {
  const { span, times } = scene;
  const text = [`${times.said(tick)}: nobody started this tick`, ...notes.slice(0, 6)].join('\n');
  const row = since !== undefined && box('row', [since, tick], span, 1, text);
  return markup`<a href="${whyLink(job, tick, scene)}">${row}<svg x="${xOf(tick, span)}"><title>${text}</title><path class="missed" d="${DIAMOND}"/></svg></a>`;
}

const SAMPLES = {
  'run completed': 'completed',
  'run running': 'running',
  'run failed': 'failed or hangs',
  'run interrupted': 'interrupted',
  missed: 'missed tick',
  pause: 'paused',
  next: 'to come',
  outage: 'store away',
};

function sampleOf([kind, text]: readonly [string, string]): Markup {
  const mark =
    kind === 'missed'
      ? markup`<path class="missed" transform="translate(8 8)" d="${DIAMOND}"/>`
      : markup`<rect class="${kind}"${kind === 'pause' && HATCHED} y="1" width="100%" height="14" rx="2"/>`;
  return markup`<li><svg width="${kind === 'next' ? 2 : 16}" height="16" aria-hidden="true">${mark}</svg>${text}</li>`;
}

/** What the marks mean. */
export const LEGEND: Markup = markup`<ul class="legend">${Object.entries(SAMPLES).map(sampleOf)}</ul>`;
