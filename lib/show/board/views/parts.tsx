import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import type { Times } from '../../../insight/shown.js';
import type { JobStatus, JobView, RunInfo } from '../../../insight/types.js';
import { kindOf } from '../data/lanes.js';
import type { Looked } from '../data/looked.js';
import { linkTo, type Question } from '../data/question.js';
import { type ComponentChildren, Fragment, Guarded, h } from './templates.js';

/**
 * What each part gets: one answer of the store, and one question.
 *
 * What all parts of the page are made of. A word and a shape show a state, and a colour besides.
 */
export interface Scene {
  readonly looked: Looked;
  readonly question: Question;
  /** In the zone of the viewer. */
  readonly times: Times;
  /** The address of a trace, with `{traceId}`. */
  readonly traceUrl: string | undefined;
  /** Whether the page has switches. */
  readonly control: boolean;
}

export type Part = (scene: Scene) => h.JSX.Element;

/** A part of the page that the script replaces when it has changed. */
export function Region(props: {
  id: string;
  title: string;
  note?: string | undefined;
  children?: ComponentChildren;
}): h.JSX.Element {
  const { id, title, note, children } = props;
  return (
    <section id={id} class="region" data-live aria-labelledby={`${id}-title`}>
      <header>
        <h2 id={`${id}-title`}>{title}</h2>
        {note && <p class="note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

export const Nothing = ({ children }: { children: ComponentChildren }): h.JSX.Element => (
  <p class="nothing">{children}</p>
);

/** A table that the keyboard can scroll if it is wider than the window. */
export function Table(props: {
  label: string;
  heads: readonly string[];
  children?: ComponentChildren;
}): h.JSX.Element {
  const { label, heads, children } = props;
  return (
    <div class="wide" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

const BROKEN = 'This record is broken, and cannot be shown.';

/** A row, or an item of a list, for each record. A broken record does not hide the others. @param span columns; none: a list */
export function each<T>(
  records: readonly T[],
  row: (record: T) => h.JSX.Element,
  span?: number,
): h.JSX.Element[] {
  const broken =
    span === undefined ? (
      <li class="nothing">{BROKEN}</li>
    ) : (
      <tr>
        <td colSpan={span} class="nothing">
          {BROKEN}
        </td>
      </tr>
    );
  return guarded(records, row, broken);
}

/** A mark of a drawing for each record. Nothing stands for a broken one: the list beside the drawing says that it is broken. */
export const eachMark = <T,>(records: readonly T[], mark: (record: T) => h.JSX.Element): h.JSX.Element[] =>
  guarded(records, mark, <Fragment />);

const guarded = <T,>(
  records: readonly T[],
  draw: (record: T) => h.JSX.Element,
  broken: h.JSX.Element,
): h.JSX.Element[] =>
  records.map((record, n) => <Guarded key={n} draw={() => draw(record)} broken={broken} />);

/** A short time; its title is the full one. */
export function Time({ at, times }: { at: number | undefined; times: Times }): h.JSX.Element {
  if (at === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={times.full(at)}>
      {times.short(at)}
    </time>
  );
}

const SHAPES: Readonly<Record<JobStatus, string>> = {
  overdue: '▲',
  hung: '▲',
  failing: '▲',
  interrupted: '▲',
  overrun: '▲',
  disagree: '▲',
  unknown: '?',
  running: '▶',
  off: '○',
  paused: '‖',
  new: '◇',
  ok: '✓',
};

/** The state of a job. A state that needs no attention does not look as if it did. */
export function Status({ view }: { view: JobView }): h.JSX.Element {
  const { status, attention, failures } = view;
  const tone = attention ? 'bad' : (TONES[status] ?? 'plain');
  return (
    <span class={`status ${tone}`}>
      <span aria-hidden="true">{SHAPES[status] ?? '?'}</span> {status}
      {failures > 1 && ` ×${failures}`}
    </span>
  );
}

const TONES: Partial<Record<JobStatus, string>> = {
  ok: 'good',
  running: 'going',
  unknown: 'doubt',
  paused: 'doubt',
};

const OUTCOMES = { hung: '▲', running: '▶', failed: '✕', interrupted: '⚡', completed: '✓' } as const;
const RUN_TONES = {
  hung: 'bad',
  running: 'going',
  failed: 'bad',
  interrupted: 'bad',
  completed: 'good',
} as const;

export function Outcome({ run }: { run: RunInfo }): h.JSX.Element {
  const kind = kindOf(run);
  return (
    <span class={`status ${RUN_TONES[kind]}`}>
      <span aria-hidden="true">{OUTCOMES[kind]}</span> {run.hung ? 'hung' : run.outcome}
    </span>
  );
}

/** The permanent link of a job. */
export const JobLink = ({ job, scene }: { job: string; scene: Scene }): h.JSX.Element => (
  <a class="name" href={linkTo({ ...lasting(scene.question), job })}>
    {displayName(job)}
  </a>
);

/** The permanent link of a job, a time, and the answer. */
export function WhyLink(props: {
  job: string;
  at: number;
  scene: Scene;
  children?: ComponentChildren;
}): h.JSX.Element {
  const { job, at, scene, children } = props;
  return <a href={linkTo({ ...lasting(scene.question), job, at })}>{children ?? 'why'}</a>;
}

/** The parts of a question that links to other pages keep. */
export const lasting = ({ zone, hours }: Question): Partial<Question> => ({ zone, hours });

/** The time to ask about, so that the answer is this run. */
export const timeOf = ({ tick, startedAt }: RunInfo): number => tick ?? startedAt;

export function took(run: RunInfo, now: number): string {
  if (run.outcome === 'running') return formatDuration(Math.max(1, now - run.startedAt));
  return run.duration === undefined ? '' : formatDuration(run.duration);
}

export function TraceLink({ run, scene }: { run: RunInfo; scene: Scene }): h.JSX.Element {
  const { traceId } = run;
  if (traceId === undefined || scene.traceUrl === undefined) return <Fragment />;
  return (
    <a rel="noreferrer" href={scene.traceUrl.replaceAll('{traceId}', encodeURIComponent(traceId))}>
      trace
    </a>
  );
}

/** How far a clock differs from the clock of the store, in words. */
export function clockText(offset: number | undefined): string {
  if (offset === undefined) return 'not known yet';
  if (Math.abs(offset) < CLOCK_OFF) return 'right';
  return `${formatDuration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead of'}${offset > 0 ? '' : ' the store'}`;
}

/** From here on the difference of a clock is shown, ms: less can be the network's doing. */
const CLOCK_OFF = 1_000;
