import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { isBad, type JobFacts } from '../../../insight/facts.js';
import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import { scheduleOf, type Times } from '../../../insight/shown.js';
import { some } from '../../../insight/phrases.js';
import type { ControlInfo, JobView, RunInfo, Why } from '../../../insight/types.js';
import { linkFrom } from '../data/question.js';
import { type Content, each, type Markup, markup } from './markup.js';
import {
  BROKEN_ITEM,
  region,
  type Scene,
  sentenceIn,
  sinceOf,
  statusOf,
  timeAt,
  timeOf,
  whyLink,
} from './parts.js';
import { axis, LEGEND, runText, stripLine } from './strip.js';
import { windows } from './table.js';

/** All that is known of one job. */
export interface Known {
  readonly view: JobView;
  readonly facts: JobFacts;
  readonly controls: readonly ControlInfo[];
  /** That a deploy has removed it. */
  readonly removed?: string | undefined;
}

/** One job: its state, why, and what ran. */
export function job(scene: Scene, known: Known): Markup {
  const { times, question } = scene;
  const { view, facts, removed } = known;
  const state =
    removed === undefined
      ? [statusOf(view), ' ', sinceOf(view, times)]
      : markup`<span class="status plain">○ removed</span>`;
  const sentence = removed ?? sentenceIn(facts, view.why, times);
  const zone = question.zone !== 'UTC' && markup`<input type="hidden" name="zone" value="${question.zone}">`;
  return markup`<section id="job" class="region" data-live aria-labelledby="job-title">
    <header><h2 id="job-title">${displayName(view.job)}</h2>${state}${windows(scene)}</header>
    <p class="sentence">${sentence}</p>
    <div class="picture alone">${axis(scene)}<div class="over">${stripLine(facts, view, scene, true)}</div>${LEGEND}</div>
    ${details(scene, known)}${lines(facts.runs)}
    <form class="find" method="get"><input type="hidden" name="job" value="${view.job}">${zone}
      <label>Why did it run, or not run, at <input type="datetime-local" name="at" required></label>
      <button type="submit" class="quiet">Ask</button></form>
  </section>`;
}

function details(scene: Scene, { view, facts }: Known): Markup {
  const { runs, lock, since } = facts;
  const { times } = scene;
  const older = since !== undefined && markup` since ${timeAt(since, times)}: older runs are not kept`;
  const none = markup`<span class="faint">none${older}</span>`;
  const bad = runs.find(isBad);
  const good = runs.find(({ outcome }) => outcome === 'completed');
  const lockName = view.lock === undefined ? 'made from the arguments of each call' : displayName(view.lock);
  const named: readonly (readonly [name: string, value: Content])[] = [
    ['Last success', good === undefined ? none : runLine(good, scene)],
    ['Last error', bad === undefined ? none : runLine(bad, scene)],
    ['Next', timeAt(view.next, times)],
    ['Schedule', scheduleOf(view, scene.question.zone)],
    ['Lock', lock === undefined ? lockName : `${lockName}, ${lock.state}`],
    ['Instances', some(view.instances.map(displayName), 8) || 'none is up'],
  ];
  return markup`<dl class="facts">${named.map(([name, value]) => markup`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** By the first instance of its application that started after the last one that had it, and is up. */
export function removedText(
  { knownBy, runs, forgotten }: JobFacts,
  told: readonly Member[],
  times: Times,
): string {
  if (forgotten !== undefined)
    return `It is forgotten since ${times.said(forgotten.startedAt)}, until an instance guards it again.`;
  const [last] = knownBy;
  const application = told.find(({ info }) => info.instance === last?.instance)?.info.application;
  const [by] = told
    .map(({ info }) => info)
    .filter((info) => info.state === 'up' && info.application === application)
    .filter((info) => upSince(info) > (last?.startedAt ?? 0))
    .sort((one, other) => upSince(one) - upSince(other));
  const version = by?.version === undefined ? '' : ` with version ${by.version}`;
  const when = by === undefined ? '' : ` (${times.said(upSince(by))})`;
  const ran = runs[0] === undefined ? '' : `; it last ran ${times.said(runs[0].startedAt)}`;
  return `A deploy has removed it${version}${when}${ran}.`;
}

/** A run, the error that it threw, and its trace. */
function runLine(run: RunInfo, scene: Scene): Content {
  const { error, job = '', traceId } = run;
  const trace = traceId !== undefined && scene.traceUrl?.replaceAll('{traceId}', encodeURIComponent(traceId));
  return [
    markup`<a href="${whyLink(job, timeOf(run), scene)}">${runText(run, scene.times)}</a> `,
    error !== undefined && markup`<span class="error">${error}</span> `,
    trace && markup`<a rel="noreferrer" href="${trace}">trace</a>`,
  ];
}

/** How many runs are compared. */
const MAX_COMPARED = 100;
const HIGH = 40;

/** How many reported numbers have a line. */
const MOST_LINES = 4;

/** How long the runs of a job took, and the numbers that they reported. */
function lines(runs: readonly RunInfo[]): Content {
  const numbers = new Map<string, number[]>();
  for (const { report = {} } of runs)
    for (const [name, value] of Object.entries(report))
      if (typeof value === 'number') numbers.set(name, [...(numbers.get(name) ?? []), value]);
  const took = runs.flatMap(({ duration }) => duration ?? []);
  return [
    line(took, (least, most) => `took ${formatDuration(least)} to ${formatDuration(most)}`),
    [...numbers]
      .slice(0, MOST_LINES)
      .map(([name, values]) => line(values, (least, most) => `reported ${name} ${least} to ${most}`)),
  ];
}

/** A line through the values of the last runs, the newest on the right. */
function line(all: readonly number[], text: (least: number, most: number) => string): Content {
  const values = all.slice(0, MAX_COMPARED);
  if (values.length < 2) return undefined;
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const bottom = Math.min(0, least);
  const points = values.map((value, n) => {
    const x = 100 - (n / (values.length - 1)) * 100;
    const high = ((value - bottom) / Math.max(1, most - bottom)) * (HIGH - 2);
    return `${x.toFixed(1)},${(HIGH - high).toFixed(1)}`;
  });
  return markup`<figure class="durations">
    <svg viewBox="0 0 100 ${HIGH}" preserveAspectRatio="none" width="100%" height="${HIGH}" aria-hidden="true"><polyline points="${points.join(' ')}"/></svg>
    <figcaption class="note">The last ${values.length} runs ${text(least, most)}; the newest is on the right.</figcaption>
  </figure>`;
}

/** Why a job ran at a time, or did not. Its link is permanent. */
export function answer(scene: Scene, why: Why, at: number, facts?: JobFacts): Markup {
  const { times, question } = scene;
  const link = linkFrom(question, { job: why.job, at });
  const title = `Why: ${displayName(why.job)}, ${times.said(why.tick ?? at)}`;
  const run = 'run' in why ? why.run : undefined;
  const content = markup`<p class="sentence">${sentenceIn(facts, why, times)}</p>
    ${run && markup`<p>${runLine(run, scene)}</p>`}<p class="note"><a href="${link}">Link to this answer</a></p>`;
  return region('answer', title, content, run?.outcome === 'running' ? undefined : run?.fencingToken);
}

const ACTS: Readonly<Record<ControlInfo['action'], string>> = {
  pause: 'paused it',
  resume: 'resumed it',
  break: 'ended its lease',
  run: 'ran it',
  redeliver: 'put dead letters back',
  forget: 'had it forgotten',
};

/** Who did what to the job. */
export function acts({ times }: Scene, { controls }: Known): Markup {
  const act = ({ at, actor, action, reason }: ControlInfo): Markup =>
    markup`<li>${timeAt(at, times)} ${actor} ${ACTS[action]}${reason !== undefined && ` (${reason})`}</li>`;
  return region('acts', 'Who did what', markup`<ul class="acts">${each(controls, act, BROKEN_ITEM)}</ul>`);
}
