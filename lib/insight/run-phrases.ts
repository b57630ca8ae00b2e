import { formatDuration } from '../base/duration.js';
import { displayName } from '../base/lock-name.js';
import { asClause } from '../base/wording.js';
import { starterOf } from './controls.js';
import type { RunInfo } from './types.js';
import type { Words } from './words.js';

/* A run as parts of a sentence: how it began, how it ended, where it was. */

/** Where and when a run began: `The tick of … ran on api-1: started at …`. */
export function begunOf(run: RunInfo, words: Words): string {
  const { tick, attempt = 1, instance, startedAt } = run;
  const again = attempt > 1 ? `, for the ${ordinal(attempt)} time` : '';
  const on = displayName(instance);
  if (tick !== undefined)
    return `The tick of ${words.fullTime(tick)} ran on ${on}${again}: started at ${words.time(startedAt)}`;
  return `It ran on ${on}: started${startedBy(run, words)} at ${words.time(startedAt)}`;
}

/** Who or what started a run without a tick. */
function startedBy(run: RunInfo, { facts: { known } }: Words): string {
  const { trigger } = run;
  const by = starterOf(run);
  if (by !== undefined) return ` by ${by.actor}${by.reason === undefined ? '' : ` (${asClause(by.reason)})`}`;
  if (trigger === 'queued') return ' by a queued call';
  if (trigger === 'schedule' || (trigger === undefined && known.kind === 'interval')) return '';
  return ' by hand';
}

const ordinal = (count: number): string => ['', 'first', 'second', 'third'][count] ?? `${count}th`;

export const after = ({ duration }: RunInfo): string =>
  duration === undefined ? '' : ` after ${formatDuration(duration)}`;

/** The error is kept as far as the options allow it. URLs in it may hold credentials. */
export const because = ({ error }: RunInfo): string => (error === undefined ? '' : ` (${asClause(error)})`);

export function endOf(run: RunInfo): string {
  if (run.outcome === 'completed') return `completed${after(run)}`;
  if (run.outcome === 'timed-out') return `went past its timeout, and ended${after(run)}${because(run)}`;
  return `failed${after(run)}${because(run)}`;
}

export function abortedBy({ by }: RunInfo): string {
  if (by?.action !== 'break') return 'the instance was shutting down or had lost the lock';
  const why = by.reason === undefined ? '' : ` (${asClause(by.reason)})`;
  return `${by.actor} has ended its lease${why}; the job itself may have gone on`;
}

export function overrunOf(run: RunInfo, words: Words): string {
  return run.outcome === 'interrupted'
    ? `its lock was still taken for an earlier run of the job, ${whereOf(run, words)}`
    : `an earlier run of the job was still going on, ${whereOf(run, words)}`;
}

/** Where and how long a run had the lock. */
export function whereOf({ instance, startedAt, endedAt, outcome }: RunInfo, words: Words): string {
  const on = `on ${displayName(instance)}`;
  if (outcome === 'interrupted')
    return `${on} since ${words.time(startedAt)}. That run was interrupted, and its lease had not run out yet`;
  return endedAt === undefined
    ? `${on} since ${words.time(startedAt)}`
    : `${on} from ${words.time(startedAt)} to ${words.time(endedAt)}`;
}
