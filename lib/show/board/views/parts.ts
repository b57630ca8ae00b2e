import { displayName } from '../../../base/lock-name.js';
import { sentenceOf } from '../../../insight/sentence.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, RunInfo, Why } from '../../../insight/types.js';
import type { JobFacts } from '../../../insight/facts.js';
import type { Looked } from '../data/looked.js';
import { linkFrom, type Question } from '../data/question.js';
import type { Coming, Span } from '../data/strip.js';
import type { Bit, Column } from '../data/tables.js';
import { type Mark, markOfJob } from '../data/verdict.js';
import { type Content, each, type Markup, markup } from './markup.js';

/** What each part of a page gets: one answer of the store, and one question. */
export interface Scene {
  readonly looked: Looked;
  readonly question: Question;
  /** In the zone of the viewer. */
  readonly times: Times;
  /** The time that the strips show. */
  readonly span: Span;
  readonly coming: Coming;
  /** The address of a trace, with `{traceId}`. */
  readonly traceUrl: string | undefined;
  /** Whether the page has switches. */
  readonly control: boolean;
}

/** Why a job is so, or was, as insight says it, with times in the zone of the viewer. */
export function sentenceIn(facts: JobFacts | undefined, why: Why | undefined, times: Times): string {
  if (facts === undefined || why === undefined) return why?.sentence ?? '';
  return sentenceOf({ ...facts, show: (at) => times.short(at) }, why, why.tick);
}

/** A part of the page that the script replaces when it has changed. @param ended the run that an answer is about, if it has ended */
export const region = (id: string, title: string, content: Content, ended?: number): Markup =>
  markup`<section id="${id}" class="region" data-live data-ended="${ended}" aria-labelledby="${id}-title">
    <header><h2 id="${id}-title">${title}</h2></header>${content}</section>`;

const BROKEN = 'This record is broken, and cannot be shown.';
export const BROKEN_ITEM = markup`<li class="faint">${BROKEN}</li>`;
export const brokenRow = (columns: number): Markup =>
  markup`<tr role="row"><td role="cell" colspan="${columns}" class="faint">${BROKEN}</td></tr>`;

/** A table that the keyboard can scroll if it is wider than the window, without the columns that have nothing in them. */
export function table<T>(
  label: string,
  columns: readonly Column<T>[],
  records: readonly T[],
  times: Times,
): Markup {
  const bitOf = (bit: Bit | undefined | false): Content => {
    if (typeof bit !== 'object') return bit;
    return 'at' in bit ? timeAt(bit.at, times) : markOf(bit);
  };
  const shown = columns.filter(({ bits }) => records.some((one) => bits(one).some(Boolean)));
  const row = (record: T): Markup => {
    const [head, ...others] = shown.map(({ bits }) => bits(record).map(bitOf));
    return markup`<tr><th scope="row">${head}</th>${others.map((cell) => markup`<td>${cell}</td>`)}</tr>`;
  };
  return markup`<div class="wide" tabindex="0" role="group" aria-label="${label}"><table>
    <thead><tr>${shown.map(({ head }) => markup`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${each(records, row, brokenRow(shown.length))}</tbody></table></div>`;
}

/** A time as people say it; its title is the full one. */
export const timeAt = (at: number | undefined, times: Times): Markup =>
  at === undefined
    ? markup`<span class="faint">–</span>`
    : markup`<time datetime="${new Date(at).toISOString()}" title="${times.full(at)}">${times.said(at)}</time>`;

/** A state: a word and a shape, and a colour besides. */
const markOf = ({ tone, text, shape, why }: Mark): Markup =>
  markup`<span class="status ${tone}"${why !== undefined && markup` title="${why}"`}><span aria-hidden="true">${shape}</span> ${text}</span>`;

export const statusOf = (view: JobView): Markup => markOf(markOfJob(view));

/** `since today 16:00`, or `since today 16:00 at least`. */
export const sinceOf = (
  { since, sinceAtLeast }: Pick<JobView, 'since' | 'sinceAtLeast'>,
  times: Times,
): Content =>
  since !== undefined &&
  markup`<span class="faint">since ${timeAt(since, times)}${sinceAtLeast && ' at least'}</span>`;

/** The permanent link of a job. */
export const jobLink = (job: string, { question }: Scene): Markup =>
  markup`<a class="job" href="${linkFrom(question, { job })}">${displayName(job)}</a>`;

/** The permanent link of a job, a time, and the answer. */
export const whyLink = (job: string, at: number, { question }: Scene): string =>
  linkFrom(question, { job, at });

/** The time to ask about, so that the answer is this run. */
export const timeOf = ({ tick, startedAt }: RunInfo): number => tick ?? startedAt;
