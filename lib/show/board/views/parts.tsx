import { displayName } from '../../../base/lock-name.js';
import { sentenceOf } from '../../../insight/sentence.js';
import type { Times } from '../data/shown.js';
import type { JobStatus, JobView, RunInfo, Why } from '../../../insight/types.js';
import type { JobFacts } from '../../../insight/facts.js';
import type { Looked } from '../data/looked.js';
import { lasting, linkTo, type Question } from '../data/question.js';
import type { Span } from '../data/strip.js';
import { type ComponentChildren, Fragment, Guarded, h } from './templates.js';

/** What each part of a page gets: one answer of the store, and one question. */
export interface Scene {
  readonly looked: Looked;
  readonly question: Question;
  /** In the zone of the viewer. */
  readonly times: Times;
  /** The time that the strips show. */
  readonly span: Span;
  /** The address of a trace, with `{traceId}`. */
  readonly traceUrl: string | undefined;
  /** Whether the page has switches. */
  readonly control: boolean;
}

/** Why a job is so, or was, as insight says it, with times in the zone of the viewer. */
export const sentenceIn = (facts: JobFacts | undefined, why: Why, times: Times): string =>
  facts === undefined ? why.sentence : sentenceOf({ ...facts, show: (at) => times.short(at) }, why, why.tick);

/** A part of the page that the script replaces when it has changed. */
export function Region(props: {
  id: string;
  title: string;
  note?: ComponentChildren;
  /** Of an answer. */
  cause?: string;
  children?: ComponentChildren;
}): h.JSX.Element {
  const { id, title, note, cause, children } = props;
  return (
    <section id={id} class="region" data-live data-cause={cause} aria-labelledby={`${id}-title`}>
      <header>
        <h2 id={`${id}-title`}>{title}</h2>
        {note !== undefined && <p class="note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

/** A table that the keyboard can scroll if it is wider than the window: its cells for each record, the first of them is the head of its row. */
export function Table<T>(props: {
  label: string;
  heads: readonly string[];
  of: readonly T[];
  cells: (record: T) => readonly ComponentChildren[];
}): h.JSX.Element {
  const { label, heads, of, cells } = props;
  const row = (record: T): h.JSX.Element => {
    const [head, ...others] = cells(record);
    return h('tr', null, h('th', { scope: 'row' }, head), ...others.map((cell) => h('td', null, cell)));
  };
  return (
    <div class="wide" tabIndex={0} role="group" aria-label={label}>
      <table>
        <thead>{h('tr', null, ...heads.map((head) => h('th', { scope: 'col' }, head)))}</thead>
        <tbody>{each(of, row, heads.length)}</tbody>
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
      <li class="faint">{BROKEN}</li>
    ) : (
      <tr role="row">
        <td role="cell" colSpan={span} class="faint">
          {BROKEN}
        </td>
      </tr>
    );
  return guarded(records, row, broken);
}

/** A mark of a drawing for each record. Nothing stands for a broken one. */
export const eachMark = <T,>(records: readonly T[], mark: (record: T) => h.JSX.Element): h.JSX.Element[] =>
  guarded(records, mark, <Fragment />);

const guarded = <T,>(
  records: readonly T[],
  draw: (record: T) => h.JSX.Element,
  broken: h.JSX.Element,
): h.JSX.Element[] =>
  records.map((record, n) => <Guarded key={n} draw={() => draw(record)} broken={broken} />);

/** A time as people say it; its title is the full one. */
export function Time({ at, times }: { at: number | undefined; times: Times }): h.JSX.Element {
  if (at === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={times.full(at)}>
      {times.said(at)}
    </time>
  );
}

const SHAPES: Readonly<Record<JobStatus, string>> = {
  overdue: '◆',
  hung: '▲',
  failing: '✕',
  interrupted: '⚡',
  overrun: '▲',
  disagree: '≠',
  unknown: '?',
  running: '▶',
  off: '○',
  paused: '‖',
  new: '·',
  ok: '✓',
};

const TONES: Partial<Record<JobStatus, string>> = {
  ok: 'good',
  running: 'going',
  overrun: 'going',
  unknown: 'doubt',
  paused: 'doubt',
};

/** The state of a job: a word and a shape, and a colour besides. */
export function Status({ view }: { view: JobView }): h.JSX.Element {
  const { status, attention, failures, sinceAtLeast } = view;
  return (
    <span class={`status ${attention ? 'bad' : (TONES[status] ?? 'plain')}`}>
      <span aria-hidden="true">{SHAPES[status] ?? '?'}</span> {status}
      {status === 'failing' && failures > 1 && ` ×${failures}${sinceAtLeast ? '+' : ''}`}
    </span>
  );
}

/** `since today 16:00`, or `since today 16:00 at least`. */
export const Since = ({
  since,
  sinceAtLeast,
  times,
}: {
  since: number | undefined;
  sinceAtLeast: true | undefined;
  times: Times;
}): h.JSX.Element =>
  since === undefined ? (
    <Fragment />
  ) : (
    <span class="faint">
      since <Time at={since} times={times} />
      {sinceAtLeast && ' at least'}
    </span>
  );

/** The permanent link of a job. */
export const JobLink = ({ job, scene }: { job: string; scene: Scene }): h.JSX.Element => (
  <a class="job" href={linkTo({ ...lasting(scene.question), job })}>
    {displayName(job)}
  </a>
);

/** The permanent link of a job, a time, and the answer. */
export const whyLink = (job: string, at: number, { question }: Scene): string =>
  linkTo({ ...lasting(question), job, at });

/** The time to ask about, so that the answer is this run. */
export const timeOf = ({ tick, startedAt }: RunInfo): number => tick ?? startedAt;

export function TraceLink({ run, scene }: { run: RunInfo; scene: Scene }): h.JSX.Element {
  const { traceId } = run;
  if (traceId === undefined || scene.traceUrl === undefined) return <Fragment />;
  return (
    <a rel="noreferrer" href={scene.traceUrl.replaceAll('{traceId}', encodeURIComponent(traceId))}>
      trace
    </a>
  );
}
