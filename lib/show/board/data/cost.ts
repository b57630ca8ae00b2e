import { formatDuration } from '../../../base/duration.js';
import { counted } from '../../../base/wording.js';
import { hasFailed } from '../../../insight/facts.js';
import type { JobView, RunInfo } from '../../../insight/types.js';
import { lockOf, type JobRecords, type Looked, NOTHING_KEPT } from './looked.js';

/** Since when a job has its problem, and what the problem has cost. */
export interface Cost {
  /** By the store's clock. Absent: nobody knows. */
  readonly since?: number;
  /** What the problem has cost, and what it means, in short clauses. */
  readonly clauses: readonly string[];
}

/** How many ticks are counted at most: each date of an expression takes time to compute. */
const MAX_TICKS = 60;

export function costOf(looked: Looked, view: JobView): Cost {
  const kept = looked.kept.get(view.job) ?? NOTHING_KEPT;
  const missed = missedTicks(looked, view);
  const since = sinceOf(view, kept, missed);
  const clauses = [...missedOf(missed, kept), ...failedOf(view), ...goingOf(looked, view, kept)];
  return { ...(since !== undefined && { since }), clauses };
}

function sinceOf(view: JobView, { runs }: JobRecords, missed: readonly number[]): number | undefined {
  if (view.status === 'overdue') return missed[0] ?? view.overdue;
  if (view.status === 'failing') {
    const failed = runs.filter((run) => hasFailed(run)).slice(0, view.failures);
    return failed.at(-1)?.startedAt ?? view.last?.startedAt;
  }
  if (view.status === 'disagree' || view.status === 'unknown') return undefined;
  return runOf(view)?.startedAt ?? view.last?.startedAt;
}

/** The run that explains the state of the job. */
const runOf = ({ why }: JobView): RunInfo | undefined =>
  why !== undefined && 'run' in why ? why.run : undefined;

/** The ticks since the newest start that nobody has started, oldest first. */
function missedTicks(looked: Looked, view: JobView): number[] {
  const { schedule, timeZone, job, overdue } = view;
  if (overdue === undefined) return [];
  const last = lockOf(looked, view)?.lock?.jobs.find((start) => start.job === job)?.tick;
  const dates = schedule === undefined ? undefined : looked.ticks?.(schedule, timeZone);
  const told = (looked.kept.get(job) ?? NOTHING_KEPT).misses.map(({ tick }) => tick);
  const known = [...new Set([...told, overdue])].filter((tick) => tick > (last ?? -Infinity));
  known.sort((one, other) => one - other);
  if (dates === undefined || last === undefined) return known;
  const ticks: number[] = [];
  for (let tick = dates.next(last); tick <= overdue && ticks.length < MAX_TICKS; tick = dates.next(tick))
    ticks.push(tick);
  return ticks;
}

function missedOf(missed: readonly number[], { misses }: JobRecords): string[] {
  const now = missed.length;
  if (now > 0) return [`${now >= MAX_TICKS ? `${MAX_TICKS} or more ticks` : counted(now, 'tick')} not run`];
  const before = new Set(misses.map(({ tick }) => tick)).size;
  return before > 0 ? [`${counted(before, 'missed tick')} on record`] : [];
}

function failedOf({ failures }: JobView): string[] {
  return failures > 0 ? [`${counted(failures, 'run')} in a row failed`] : [];
}

function goingOf(looked: Looked, view: JobView, { runs }: JobRecords): string[] {
  if (view.status !== 'hung' && view.status !== 'overrun') return [];
  const run = runOf(view) ?? view.last;
  const usual = usualOf(runs);
  if (run === undefined) return [];
  const took = `going on for ${formatDuration(Math.max(0, looked.now - run.startedAt))}`;
  return [usual === undefined ? took : `${took}, usually ${formatDuration(usual)}`];
}

/** The median duration of the completed runs that are kept; `undefined`: there is none. */
export function usualOf(runs: readonly RunInfo[]): number | undefined {
  const took = runs
    .filter(({ outcome }) => outcome === 'completed')
    .flatMap(({ duration }) => duration ?? [])
    .sort((one, other) => one - other);
  return took[Math.floor(took.length / 2)];
}
