import { given } from '../../../base/shared.js';
import { capital } from '../../../insight/phrases.js';
import { scheduleOf } from '../data/shown.js';
import type { JobView } from '../../../insight/types.js';
import type { Member } from '../../../insight/fleet-jobs.js';
import type { Looked } from '../data/looked.js';
import { HOURS, linkTo, partsOf, type Question } from '../data/question.js';
import { type ComponentChildren, h } from './templates.js';
import { JobLink, type Scene, Since, Status, Time } from './parts.js';
import type { Strip } from '../data/strip.js';
import { Axis, Legend, StripOf } from './strip.js';
import { type State, STATES, stateOf } from './verdict.js';

/** How many jobs are listed at a time. */
export const PAGE = 50;

/** The jobs that a viewer asks for, and those of them that are on this page of the table. */
export interface Rows {
  readonly found: readonly JobView[];
  readonly shown: readonly JobView[];
  readonly skip: number;
}

/** The applications of a fleet, with the names of their jobs. */
export function applicationsOf(told: readonly Member[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const seen = new Set<unknown>();
  for (const { info, jobs } of told) {
    const { application } = info;
    if (application === undefined || seen.has(jobs)) continue;
    seen.add(jobs);
    const names = found.get(application) ?? new Set();
    for (const { job } of jobs) names.add(job);
    found.set(application, names);
  }
  return found;
}

export function rowsOf({ jobs, told }: Looked, { find, state, app, skip: wanted }: Question): Rows {
  const text = find.toLowerCase();
  const names = app === undefined ? undefined : applicationsOf(told).get(app);
  const found = jobs.filter(
    (view) =>
      view.job.toLowerCase().includes(text) &&
      (state === undefined || stateOf(view) === state) &&
      (app === undefined || names?.has(view.job) === true),
  );
  const skip = wanted < found.length ? wanted : 0;
  return { found, shown: found.slice(skip, skip + PAGE), skip };
}

/** What filters the table. Works without a script: the browser puts the fields into the query. */
export function Filters({ scene: { question, looked } }: { scene: Scene }): h.JSX.Element {
  const { find, app } = question;
  const names = [...applicationsOf(looked.told).keys()].sort();
  const others = partsOf({ ...question, find: '', skip: 0 }).filter(([name]) => name !== 'app');
  return (
    <form id="find" class="find" method="get" role="search">
      {names.length > 1 && (
        <select name="app" aria-label="Application">
          <option value="">All applications</option>
          {names.map((name) => h('option', { selected: name === app }, name))}
        </select>
      )}
      <input type="search" name="find" value={find} placeholder="Find a job" aria-label="Name contains" />
      {others.map(([name, value]) => h('input', { type: 'hidden', name, value }))}
      <button type="submit" class="quiet">
        Find
      </button>
    </form>
  );
}

/** The states with their counts, and the windows of time. */
export function Tabs({ scene }: { scene: Scene }): h.JSX.Element {
  const { question, looked } = scene;
  const { state: chosen, ...all } = { ...question, skip: 0 };
  const found = rowsOf(looked, all).found;
  const tab = (state: State | undefined, count: number): h.JSX.Element =>
    h(
      'a',
      {
        class: state && `to-${state}`,
        href: linkTo({ ...all, ...given({ state }) }),
        'aria-current': isHere(chosen === state),
      },
      `${capital(state ?? 'all')} `,
      h('span', { class: 'count' }, count),
    );
  return (
    <div id="tabs" class="tabs" data-live="always">
      <nav aria-label="State">
        {tab(undefined, found.length)}
        {STATES.map((state) => {
          const count = found.filter((view) => stateOf(view) === state).length;
          return count > 0 || chosen === state ? tab(state, count) : undefined;
        })}
      </nav>
      <Windows scene={scene} />
    </div>
  );
}

const isHere = (is: boolean): 'true' | undefined => (is ? 'true' : undefined);

/** How far back the strips go. */
export function Windows({ scene: { question, span } }: { scene: Scene }): h.JSX.Element {
  const shown = Math.round((span.now - span.from) / 3_600_000);
  return (
    <nav class="windows" aria-label="Time">
      {HOURS.map((hours) =>
        h(
          'a',
          { href: linkTo({ ...question, hours }), 'aria-current': isHere(hours === shown) },
          hours > 24 ? `${hours / 24} d` : `${hours} h`,
        ),
      )}
    </nav>
  );
}

/** One row for each job, with one strip of time. @param html of the rows, which are drawn one by one: all of them take the processor long.
 * The roles stay where a small window lays the rows out as blocks. */
export function Jobs({ scene, rows, html }: { scene: Scene; rows: Rows; html: string }): h.JSX.Element {
  const { found, shown } = rows;
  const head = (attributes: object, text: ComponentChildren): h.JSX.Element =>
    h('th', { role: 'columnheader', scope: 'col', ...attributes }, text);
  const label = 'Runs, missed ticks, and dates to come';
  return (
    <section id="jobs" class="region picture" data-live aria-label="Jobs">
      {shown.length === 0 ? (
        <p class="faint">
          {scene.looked.jobs.length === 0 ? 'No instance has reported a job.' : 'No such job.'}
        </p>
      ) : (
        <table role="table" aria-label="Jobs">
          <thead role="rowgroup">
            <tr role="row">
              {head({}, 'Job')}
              {head({}, 'State')}
              {head({ class: 'over', 'aria-label': label }, <Axis scene={scene} />)}
              {head({}, 'Next')}
            </tr>
          </thead>
          <tbody role="rowgroup" dangerouslySetInnerHTML={{ __html: html }} />
        </table>
      )}
      {shown.length > 0 && <Legend />}
      {found.length > shown.length && <Pages scene={scene} rows={rows} />}
    </section>
  );
}

function Pages({ scene, rows: { found, shown, skip } }: { scene: Scene; rows: Rows }): h.JSX.Element {
  const to = (at: number): string => linkTo({ ...scene.question, skip: at });
  return (
    <p class="choices">
      {skip + 1}–{skip + shown.length} of {found.length}{' '}
      {skip > 0 && <a href={to(Math.max(0, skip - PAGE))}>Previous</a>}{' '}
      {skip + PAGE < found.length && <a href={to(skip + PAGE)}>Next</a>}
    </p>
  );
}

export function Row({ view, strip, scene }: { view: JobView; strip: Strip; scene: Scene }): h.JSX.Element {
  const { question, times } = scene;
  const { attention, status, since, sinceAtLeast, paused } = view;
  return (
    <tr role="row" key={view.job}>
      <th role="rowheader" scope="row">
        <JobLink job={view.job} scene={scene} />
        <span class="faint schedule">{scheduleOf(view, question.zone)}</span>
      </th>
      <td role="cell">
        <Status view={view} />
        {(attention || status === 'running' || paused !== undefined) && (
          <Since since={since} sinceAtLeast={sinceAtLeast} times={times} />
        )}
      </td>
      <td role="cell" class="over">
        <StripOf job={view.job} strip={strip} scene={scene} />
      </td>
      <td role="cell" class="date">
        <Time at={view.next} times={times} />
      </td>
    </tr>
  );
}
