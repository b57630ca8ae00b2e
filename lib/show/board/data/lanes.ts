import { hasFailed, wasInterrupted } from '../../../insight/facts.js';
import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import { inTurns } from '../../../insight/turns.js';
import type { RunInfo } from '../../../insight/types.js';

/** A run on a lane. */
export interface Bar {
  readonly run: RunInfo;
  readonly from: number;
  readonly to: number;
  /** The line of the lane, from 0: runs at the same time have lines of their own. */
  readonly line: number;
  /** Whether another run of the same job went on at the same time. */
  readonly overlaps: boolean;
}

/** What one instance did. */
export interface Track {
  readonly instance: string;
  readonly info?: Member['info'];
  readonly bars: readonly Bar[];
  readonly lines: number;
  /** When the instance was not up. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  /** How many runs of the instance are not drawn. */
  readonly hidden: number;
}

/** How many lanes are drawn, and how many runs on each. */
export const MOST_LANES = 30;
const MOST_BARS = 120;
/** How many runs are drawn on all lanes together. */
const MOST_IN_ALL = 900;
const MOST_LINES = 4;

/** The lanes of a span of time, ordered by name: the order stays the same from page to page. */
export async function lanesOf(
  runs: readonly RunInfo[],
  told: readonly Member[],
  span: { readonly from: number; readonly to: number },
): Promise<Track[]> {
  const { from, to } = span;
  const seen = runs.filter((run) => endOf(run, to) >= from && run.startedAt <= to);
  const overlapping = await overlapsOf(seen, to);
  const byInstance = new Map<string, RunInfo[]>();
  await inTurns(seen, (run) => {
    const own = byInstance.get(run.instance);
    if (own === undefined) byInstance.set(run.instance, [run]);
    else own.push(run);
    return [];
  });
  const there = told.filter((one) => one.info.state === 'up' || one.info.seenAt >= from);
  const infos = new Map(there.map((one) => [one.info.instance, one]));
  const names = [...new Set([...infos.keys(), ...byInstance.keys()])].sort();
  const most = Math.min(MOST_BARS, Math.ceil(MOST_IN_ALL / Math.min(MOST_LANES, names.length)));
  return inTurns(names, (instance) => {
    const one = infos.get(instance);
    const own = byInstance.get(instance) ?? [];
    const shown = mostTelling(own, most);
    const { bars, lines } = stacked(shown, overlapping, to);
    return [
      {
        instance,
        ...(one && { info: one.info }),
        bars,
        lines,
        gaps: one === undefined ? [] : gapsOf(one, span),
        hidden: own.length - shown.length,
      },
    ];
  });
}

/** When a run ended. Of an interrupted run nobody knows. */
export const endOf = ({ startedAt, endedAt, duration, outcome }: RunInfo, now: number): number =>
  outcome === 'running' ? now : Math.min(endedAt ?? startedAt, startedAt + (duration ?? Infinity));

/** First the runs that went wrong or go on, then the newest ones. */
function mostTelling(runs: readonly RunInfo[], most: number): RunInfo[] {
  if (runs.length <= most) return [...runs];
  const tells = (run: RunInfo): boolean => run.outcome !== 'completed' || (run.attempt ?? 1) > 1;
  return [...runs.filter(tells), ...runs.filter((run) => !tells(run))].slice(0, most);
}

function stacked(
  runs: readonly RunInfo[],
  overlapping: ReadonlySet<RunInfo>,
  now: number,
): { bars: Bar[]; lines: number } {
  const ends: number[] = [];
  const bars = [...runs]
    .sort((one, other) => one.startedAt - other.startedAt)
    .map((run): Bar => {
      const to = endOf(run, now);
      const free = ends.findIndex((end) => end <= run.startedAt);
      const line = free >= 0 ? free : Math.min(ends.length, MOST_LINES - 1);
      ends[line] = Math.max(ends[line] ?? 0, to);
      return { run, from: run.startedAt, to, line, overlaps: overlapping.has(run) };
    });
  return { bars, lines: Math.max(1, ends.length) };
}

/** Runs of one job that went on at the same time. */
async function overlapsOf(runs: readonly RunInfo[], now: number): Promise<Set<RunInfo>> {
  const found = new Set<RunInfo>();
  const last = new Map<string, RunInfo>();
  const inOrder = [...runs].sort((one, other) => one.startedAt - other.startedAt);
  await inTurns(inOrder, (run) => {
    const key = run.job ?? `lock ${run.lock}`;
    const before = last.get(key);
    if (before !== undefined && endOf(before, now) > run.startedAt) found.add(before).add(run);
    if (before === undefined || endOf(run, now) >= endOf(before, now)) last.set(key, run);
    return [];
  });
  return found;
}

function gapsOf(one: Member, { from, to }: { from: number; to: number }): { from: number; to: number }[] {
  const start = upSince(one.info);
  const end = one.info.state === 'up' ? to : one.info.seenAt;
  return [
    ...(start > from ? [{ from, to: Math.min(start, to) }] : []),
    ...(end < to ? [{ from: Math.max(end, from), to }] : []),
  ];
}

/** What a run was, in one word. */
export function kindOf(run: RunInfo): 'hung' | 'running' | 'failed' | 'interrupted' | 'completed' {
  if (run.hung) return 'hung';
  if (run.outcome === 'running') return 'running';
  if (hasFailed(run)) return 'failed';
  return wasInterrupted(run) ? 'interrupted' : 'completed';
}
