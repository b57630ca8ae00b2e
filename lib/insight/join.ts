import type { HistoryEntry, InstanceRecord, RunEntry, Trigger } from '../contract/history-store.js';
import type { JobInfo, LockInfo } from '../contract/lock-info.js';
import { forgets, isRun, pausesOf } from './controls.js';
import { given } from '../base/shared.js';
import { type JobFacts, type KnownBy } from './facts.js';
import type { InstanceState, RunInfo } from './types.js';

/* Joins three answers of a store: its instances, its locks, and the runs that it has kept. */

/** After how many beats without one an instance counts as gone. */
const BEATS = 3;
/** How late a beat with a tick may come, ms: a database may have to wake up for it, and a beat that fails is sent again after 30 s. */
const LATE = 90_000;
/** From this part of its age on an entry may be the oldest that is left. */
const NEARLY = 0.9;

export const isUp = ({ state }: { readonly state: InstanceState }): boolean => state === 'up';

/** The state of an instance. One that beats with its ticks is silent until the tick that it has announced, and may be up. */
export function stateOf({ left, every, withTicks, time, seenAt }: InstanceRecord): InstanceState {
  if (left) return 'left';
  return time - seenAt > (withTicks ? every + LATE : BEATS * every) ? 'gone' : 'up';
}

/** What the store knows of a lock: the lock as it is now, and what was kept of its runs. */
export interface LockFacts {
  readonly lock?: LockInfo;
  readonly entries: readonly HistoryEntry[];
  /** Why the store does not show the lock as it is now, or its runs. */
  readonly refusal?: Error;
}

export const newestFirst = (one: RunInfo, other: RunInfo): number => other.fencingToken - one.fencingToken;

/** The runs under a lock, newest first, with the one that goes on or was interrupted, of which no record is kept yet. */
export const runsOf = (facts: LockFacts): RunInfo[] => leasesOf(facts).filter(isRun);

/** The runs under a lock and the acts of people, newest first. */
export function leasesOf({ lock, entries }: LockFacts): RunInfo[] {
  const kept = entries.filter((entry) => entry.type === 'run');
  const open = lock && openRun(lock, kept);
  // Nothing ran under an abandoned lease.
  const runs = kept.filter(({ outcome }) => outcome !== 'abandoned').map((entry) => runOf(entry, lock));
  return [...runs, ...(open ? [open] : [])].sort(newestFirst);
}

/** When a lease began, by the store's clock. */
export const grantedAt = (fencingToken: number): number => Math.floor(fencingToken / 1_000);

function runOf(entry: RunEntry, lock: LockInfo | undefined): RunInfo {
  const { type: _type, at, outcome, ...run } = entry;
  const isOver = outcome !== 'interrupted';
  // A run that a person has started is recorded as interrupted when it begins: while its lease lives, it is running.
  const goesOn = !isOver && lock?.state === 'held' && lock.fencingToken === run.fencingToken;
  const usual = run.tick === undefined ? 'hand' : 'schedule';
  const trigger = triggerOf(entry) ?? (isOver || run.by !== undefined ? usual : undefined);
  const about = { outcome: goesOn ? 'running' : outcome, startedAt: grantedAt(run.fencingToken) } as const;
  // One copy, as a look at all jobs has thousands of these.
  return Object.assign(run, about, trigger && { trigger }, isOver && { endedAt: at });
}

/** What started a run, where that is kept. */
const triggerOf = ({ trigger, attempt = 1 }: Pick<RunEntry, 'trigger' | 'attempt'>): Trigger | undefined =>
  attempt > 1 ? 'rerun' : trigger;

/** The run of a lease that was not released, if no entry has it. */
function openRun(lease: LockInfo, entries: readonly RunEntry[]): RunInfo | undefined {
  const { name: lock, state, interrupted, fencingToken, holder, job, jobs } = lease;
  if ((state !== 'held' && !interrupted) || fencingToken === undefined || holder === undefined)
    return undefined;
  if (entries.some((entry) => entry.fencingToken === fencingToken)) return undefined;
  const last = jobs.find((each) => each.job === job && each.outcome === undefined) ?? {};
  const { tick, attempt }: Partial<JobInfo> = last;
  // Its last tick may be that of an older lease: then this run is by hand.
  const isOlder = entries.some((each) => each.job === job && each.tick === tick && each.attempt === attempt);
  return {
    lock,
    fencingToken,
    instance: holder,
    ...given({ job, ...(tick !== undefined && !isOlder && { tick, attempt, trigger: triggerOf(last) }) }),
    startedAt: grantedAt(fencingToken),
    outcome: state === 'held' ? 'running' : 'interrupted',
  };
}

/** What is known of a job, from what is known of its lock and its instances. */
export function factsOf(
  knownBy: readonly [KnownBy, ...KnownBy[]],
  lockFacts: LockFacts,
  more: Pick<JobFacts, 'time' | 'asOf' | 'seen' | 'ticks' | 'show'>,
): JobFacts {
  const { job: known } = knownBy[0];
  const { lock, entries, refusal } = lockFacts;
  const leases = leasesOf(lockFacts);
  const runs = withHung(leases.filter(isRun), knownBy);
  return {
    ...more,
    known,
    knownBy,
    ...given({ lock, since: keptSince(runs, knownBy[0].kept, more.time), refusal: refusal?.message }),
    runs: runs.filter(({ job }) => job === known.job),
    others: runs.filter(({ job }) => job !== known.job),
    ...given({ forgotten: leases.find((entry) => forgets(entry, knownBy)) }),
    pauses: pausesOf(leases, lock),
    misses: entries
      .filter((entry) => entry.type === 'miss')
      .filter(({ job }) => job === known.job)
      .sort((one, other) => other.tick - one.tick),
  };
}

/** A run was not interrupted if its live instance says that it goes on, though its lease has ended by itself. */
function withHung(runs: readonly RunInfo[], knownBy: readonly KnownBy[]): readonly RunInfo[] {
  if (!knownBy.some(({ hung }) => hung !== undefined)) return runs;
  // If a person has ended its lease, the instance of the run knows more than the record.
  const isOpen = ({ outcome, by }: RunInfo): boolean =>
    outcome === 'running' || outcome === 'interrupted' || by?.action === 'break';
  const over = new Set(runs.filter((run) => !isOpen(run)).map(({ fencingToken }) => fencingToken));
  const hung = knownBy.flatMap(({ hung: told = [], instance, job: { job, lock = job } }) =>
    told
      .filter(({ fencingToken }) => !over.has(fencingToken))
      .map(({ fencingToken, tick }): RunInfo => {
        const ids = { lock, job, fencingToken, instance, ...given({ tick }) };
        return { ...ids, startedAt: grantedAt(fencingToken), outcome: 'running', hung: true };
      }),
  );
  const tokens = new Set(hung.map(({ fencingToken }) => fencingToken));
  return [...hung, ...runs.filter(({ fencingToken }) => !tokens.has(fencingToken))].sort(newestFirst);
}

/** Since when no run is missing, if some may have been dropped: those that completed are the first to be pushed out. */
function keptSince(runs: readonly RunInfo[], kept: KnownBy['kept'], time: number): number | undefined {
  // If the instance does not say how many runs it keeps, some may be missing.
  const { count = 1, age = 0 } = kept ?? {};
  const completed = runs.filter(({ outcome }) => outcome === 'completed');
  const oldest = completed.at(-1)?.startedAt;
  const isFull = completed.length >= count || (oldest ?? Infinity) < time - age * NEARLY;
  return isFull ? oldest : undefined;
}
