import { datesOf } from '../../../insight/dates.js';
import { endOf, hasFailed, type JobFacts, wasInterrupted } from '../../../insight/facts.js';
import type { JobView, RunInfo } from '../../../insight/types.js';

/** The time that a strip shows. */
export interface Span {
  readonly from: number;
  readonly now: number;
  readonly to: number;
}

/** What a run was, the worst first. */
const KINDS = ['hung', 'failed', 'interrupted', 'running', 'completed'] as const;
type Kind = (typeof KINDS)[number];

export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly kind: Kind;
  /** Several: they are too many to have a bar each. */
  readonly runs: readonly RunInfo[];
}

/** A tick that nobody started. */
export interface Missed {
  readonly tick: number;
  /** The first of several in a row that one instance has noted. */
  readonly since?: number;
  /** What instances have noted: a reason, and who. */
  readonly notes: readonly string[];
}

/** How many runs have a bar of their own; into how many cells they are put if there are more. */
const MOST_BARS = 60;
const CELLS = 72;
/** How many missed ticks, and dates to come, are drawn. */
const MOST_MISSES = 60;
export const MOST_NEXT = 24;

/** The runs of a strip: one bar each, or, if they are too many, one for those of a cell. */
export function barsOf({ runs: all }: JobFacts, span: Span): Bar[] {
  const { from, now } = span;
  const runs = all.filter((run) => run.startedAt <= now && goneOn(run, now) >= from);
  return runs.length > MOST_BARS ? cellsOf(runs, span) : runs.map((run) => barOf([run], now)).reverse();
}

/** When a run ended, or until when it has gone on. Of an interrupted run nobody knows. */
const goneOn = (run: RunInfo, now: number): number => Math.min(now, Math.max(run.startedAt, endOf(run)));

function kindOf(run: RunInfo): Kind {
  if (run.hung) return 'hung';
  if (run.outcome === 'running') return 'running';
  if (hasFailed(run) || run.outcome === 'hollow') return 'failed';
  return wasInterrupted(run) ? 'interrupted' : 'completed';
}

function barOf(runs: readonly RunInfo[], now: number): Bar {
  const kinds = new Set(runs.map(kindOf));
  const kind = KINDS.find((each) => kinds.has(each)) ?? 'completed';
  const from = Math.min(...runs.map(({ startedAt }) => startedAt));
  return { from, to: Math.max(...runs.map((run) => goneOn(run, now))), kind, runs };
}

/** One bar for the runs that began in one cell of the strip. */
function cellsOf(runs: readonly RunInfo[], { from, now }: Span): Bar[] {
  const width = (now - from) / CELLS;
  const cells = new Map<number, RunInfo[]>();
  for (const run of runs) {
    const begin = from + Math.max(0, Math.floor((run.startedAt - from) / width)) * width;
    cells.set(begin, [...(cells.get(begin) ?? []), run]);
  }
  return [...cells].map(([begin, own]) => {
    const bar = barOf(own, now);
    return { ...bar, from: begin, to: Math.max(bar.to, Math.min(now, begin + width)) };
  });
}

/** The missed ticks, newest first. A tick that was run after all is none. */
export function missesOf({ misses, runs }: JobFacts, { overdue }: JobView, from: number): Missed[] {
  const ran = new Set(runs.map(({ tick }) => tick));
  const found = new Map<number, { tick: number; since?: number; notes: string[] }>();
  if (overdue !== undefined && overdue >= from) found.set(overdue, { tick: overdue, notes: [] });
  for (const miss of misses) {
    const { tick, count, since, reason, instance } = miss;
    if (tick < from || ran.has(tick)) continue;
    const one = found.get(tick) ?? { tick, notes: [] };
    if (count > 1 && since !== undefined) one.since = Math.min(since, one.since ?? since);
    one.notes.push(`${reason} on ${instance}${count > 1 ? `, ${count} in a row` : ''}`);
    found.set(tick, one);
  }
  return [...found.values()].slice(0, MOST_MISSES);
}

/** More schedules than a fleet has, unless an application keeps making new ones. */
const MOST_SCHEDULES = 2_000;

/** Finds the dates to come. It keeps those of each schedule, as `cron` takes a millisecond for a date. */
export class Coming {
  readonly #known = new Map<string, number[]>();

  /** The dates of a job, as far as a strip goes. They are too many to be drawn if there are more than {@link MOST_NEXT}. */
  of(facts: JobFacts, { next, interval, paused }: JobView, to: number): number[] {
    if (next === undefined || next > to) return [];
    const { schedule, timeZone } = facts.known;
    const key = JSON.stringify([interval, schedule, timeZone]);
    if (this.#known.size >= MOST_SCHEDULES) this.#known.clear();
    const known = (this.#known.get(key) ?? []).filter((at) => at >= next);
    // An interval is due anew after each start, and a pause moves the first date.
    const dates = known[0] === next ? known : [next];
    const after = interval === undefined ? datesOf(facts).next : (at: number): number => at + interval;
    while (dates.length <= MOST_NEXT && (dates.at(-1) ?? Infinity) <= to)
      dates.push(after(dates.at(-1) ?? Infinity));
    if (paused === undefined) this.#known.set(key, dates);
    return dates.filter((at) => at <= to);
  }
}
