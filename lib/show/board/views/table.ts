import { given } from '../../../base/shared.js';
import { capital } from '../../../insight/phrases.js';
import { scheduleOf } from '../../../insight/shown.js';
import type { JobView } from '../../../insight/types.js';
import type { JobFacts } from '../../../insight/facts.js';
import type { Member } from '../../../insight/fleet-jobs.js';
import type { Looked } from '../data/looked.js';
import { HOURS, linkTo, partsOf, type Question } from '../data/question.js';
import { type Markup, markup } from './markup.js';
import { jobLink, type Scene, sinceOf, statusOf, timeAt } from './parts.js';
import { axis, LEGEND, stripLine } from './strip.js';
import { countsOf, type State, STATES, stateOf } from '../data/verdict.js';

/** How many jobs are listed at a time. */
const PAGE = 50;

/** The jobs that a viewer asks for, and those of them that are on this page of the table. */
export interface Rows {
  readonly found: readonly JobView[];
  readonly shown: readonly JobView[];
  readonly skip: number;
}

/** The names of the jobs of an application, whose instances share lists of them. */
function jobsOf(told: readonly Member[], application: string): Set<string> {
  const lists = new Set(told.flatMap(({ info, jobs }) => (info.application === application ? [jobs] : [])));
  return new Set([...lists].flatMap((jobs) => jobs.map(({ job }) => job)));
}

export function rowsOf({ jobs, told }: Looked, { find, state, app, skip: wanted }: Question): Rows {
  const text = find.toLowerCase();
  const names = app === undefined ? undefined : jobsOf(told, app);
  const found = jobs.filter(
    (view) =>
      view.job.toLowerCase().includes(text) &&
      (state === undefined || stateOf(view) === state) &&
      (names === undefined || names.has(view.job)),
  );
  const skip = wanted < found.length ? wanted : 0;
  return { found, shown: found.slice(skip, skip + PAGE), skip };
}

/** What filters the table. Works without a script: the browser puts the fields into the query. */
export function filters({ question, looked }: Scene): Markup {
  const { find, app } = question;
  const names = [...new Set(looked.told.flatMap(({ info }) => info.application ?? []))].sort();
  const others = partsOf({ ...question, find: '', skip: 0 }).filter(([name]) => name !== 'app');
  const options = names.map((name) => markup`<option${name === app && markup` selected`}>${name}</option>`);
  return markup`<form id="find" class="find" method="get" role="search">
    ${names.length > 1 && markup`<select name="app" aria-label="Application"><option value="">All applications</option>${options}</select>`}
    <input type="search" name="find" value="${find}" placeholder="Find a job" aria-label="Name contains">
    ${others.map(([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`)}
    <button type="submit" class="quiet">Find</button></form>`;
}

const current = (is: boolean): Markup | false => is && markup` aria-current="true"`;

/** The states with their counts, and the windows of time. */
export function tabs(scene: Scene): Markup {
  const { question, looked } = scene;
  const { state: chosen, ...all } = { ...question, skip: 0 };
  const { found } = rowsOf(looked, all);
  const tab = (state: State | undefined, count: number): Markup =>
    markup`<a class="to-${state}" href="${linkTo({ ...all, ...given({ state }) })}"${current(chosen === state)}>${capital(state ?? 'all')} <span class="count">${count}</span></a>`;
  const counts = countsOf(found);
  const shown = STATES.filter((state) => counts[state] > 0 || chosen === state);
  const states = shown.map((state) => tab(state, counts[state]));
  return markup`<div id="tabs" class="tabs" data-live="always"><nav aria-label="State">${tab(undefined, found.length)}${states}</nav>${windows(scene)}</div>`;
}

/** How far back the strips go. */
export function windows({ question, span }: Scene): Markup {
  const shown = Math.round((span.now - span.from) / 3_600_000);
  const links = HOURS.map(
    (hours) =>
      markup`<a href="${linkTo({ ...question, hours })}"${current(hours === shown)}>${hours > 24 ? `${hours / 24} d` : `${hours} h`}</a>`,
  );
  return markup`<nav class="windows" aria-label="Time">${links}</nav>`;
}

/** One row for each job, with one strip of time. The roles stay where a small window lays the rows out as blocks. */
export function jobs(scene: Scene, rows: Rows, drawn: readonly Markup[]): Markup {
  const { found, shown } = rows;
  const label = 'Runs, missed ticks, and dates to come';
  const picture = markup`<table role="table" aria-label="Jobs">
    <thead role="rowgroup"><tr role="row">
      <th role="columnheader" scope="col">Job</th><th role="columnheader" scope="col">State</th>
      <th role="columnheader" scope="col" class="over" aria-label="${label}">${axis(scene)}</th>
      <th role="columnheader" scope="col">Next</th></tr></thead>
    <tbody role="rowgroup">${drawn}</tbody></table>${LEGEND}`;
  return markup`<section id="jobs" class="region picture" data-live aria-label="Jobs">
    ${shown.length === 0 ? markup`<p class="faint">No such job.</p>` : picture}
    ${found.length > shown.length && pages(scene, rows)}</section>`;
}

function pages({ question }: Scene, { found, shown, skip }: Rows): Markup {
  const to = (at: number, text: string): Markup =>
    markup`<a href="${linkTo({ ...question, skip: at })}">${text}</a> `;
  return markup`<p class="choices">${skip + 1}–${skip + shown.length} of ${found.length}
    ${skip > 0 && to(Math.max(0, skip - PAGE), 'Previous')}${skip + PAGE < found.length && to(skip + PAGE, 'Next')}</p>`;
}

export function row(view: JobView, facts: JobFacts, scene: Scene): Markup {
  const { question, times } = scene;
  return markup`<tr role="row">
    <th role="rowheader" scope="row">${jobLink(view.job, scene)}<span class="faint schedule">${scheduleOf(view, question.zone)}</span></th>
    <td role="cell">${statusOf(view)}${sinceOf(view, times)}</td>
    <td role="cell" class="over">${stripLine(facts, view, scene)}</td>
    <td role="cell" class="date">${timeAt(view.next, times)}</td></tr>`;
}
