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
/** The outcome of a lease under which nothing ran. */
const NO_RUN = 'abandoned';

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

/** The runs under a lock, newest first, with the one that goes on or was interrupted, of which no record is kept yet. */
export const runsOf = (facts: LockFacts): RunInfo[] => leasesOf(facts).filter(isRun);

/** The runs under a lock and the acts of people, newest first. */
export function leasesOf(facts: LockFacts): readonly RunInfo[] {
  let leases = joined.get(facts);
  if (leases === undefined) joined.set(facts, (leases = join(facts)));
  return leases;
}

/** What came of them: several readers of one look ask for the same. */
const joined = new WeakMap<LockFacts, readonly RunInfo[]>();

function join({ lock, entries }: LockFacts): RunInfo[] {
  const ended = entries.filter((entry) => entry.type === 'run').map((entry) => asOfNow(entry, lock));
  const newest = lock && newestRun(lock, ended);
  return [...ended.filter(({ outcome }) => outcome !== NO_RUN).map(runOf), ...(newest ? [newest] : [])].sort(
    (one, other) => other.fencingToken - one.fencingToken,
  );
}

/** A run that a person has started is recorded as interrupted when it begins: while its lease lives, it is running. */
function asOfNow(entry: RunEntry, lock: LockInfo | undefined): Entry {
  const goesOn =
    entry.outcome === 'interrupted' && lock?.state === 'held' && lock.fencingToken === entry.fencingToken;
  return goesOn ? { ...entry, outcome: 'running' } : entry;
}

type Entry = Omit<RunEntry, 'outcome'> & { readonly outcome: RunInfo['outcome'] };

/** When a lease began, by the store's clock. */
export const grantedAt = (fencingToken: number): number => Math.floor(fencingToken / 1_000);

function runOf(entry: Entry): RunInfo {
  const { type: _type, at, ...run } = entry;
  const isOver = run.outcome !== 'interrupted' && run.outcome !== 'running';
  const usual = run.tick === undefined ? 'hand' : 'schedule';
  const trigger = triggerOf(entry) ?? (isOver || run.by !== undefined ? usual : undefined);
  // One copy, as a look at all jobs has thousands of these.
  const startedAt = grantedAt(run.fencingToken);
  return Object.assign(run, trigger && { trigger }, { startedAt }, isOver && { endedAt: at });
}

/** What started a run, where that is kept. */
const triggerOf = ({ trigger, attempt = 1 }: Pick<Entry, 'trigger' | 'attempt'>): Trigger | undefined =>
  attempt > 1 ? 'rerun' : trigger;

/** The run of the newest lease, if no entry has it. */
function newestRun(lock: LockInfo, entries: readonly Entry[]): RunInfo | undefined {
  const { name, fencingToken, holder, job } = lock;
  if (fencingToken === undefined || holder === undefined) return undefined;
  if (entries.some((entry) => entry.fencingToken === fencingToken)) return undefined;
  const start = startUnder(lock, entries);
  const outcome = openOutcomeOf(lock) ?? start?.outcome;
  if (outcome === undefined || outcome === NO_RUN) return undefined;
  return {
    lock: name,
    fencingToken,
    instance: holder,
    ...given({ job, tick: start?.tick, attempt: start?.attempt, trigger: start && triggerOf(start) }),
    startedAt: grantedAt(fencingToken),
    outcome,
  };
}

/** The state of the run of a lease that was not released. */
const openOutcomeOf = ({ state, interrupted }: LockInfo): 'running' | 'interrupted' | undefined =>
  state === 'held' ? 'running' : interrupted ? 'interrupted' : undefined;

/** The tick that the newest lease has started. The last tick of its job may be older: then its run has ended, and the newest run is by hand. */
function startUnder(lock: LockInfo, entries: readonly Entry[]): JobInfo | undefined {
  const start = lock.jobs.find(({ job }) => job === lock.job);
  if (start?.tick === undefined) return undefined;
  if (openOutcomeOf(lock) !== undefined && start.outcome !== undefined) return undefined;
  const isOlder = entries.some(
    ({ job, tick, attempt }) => job === start.job && tick === start.tick && attempt === start.attempt,
  );
  return isOlder ? undefined : start;
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
    ...given({ lock, since: keptSince(runs, knownBy, more.time), refusal: refusal?.message }),
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
  const hung = new Map<number, RunInfo>();
  for (const { hung: told = [], instance, job } of knownBy)
    for (const { fencingToken, tick } of told) {
      const ids = { lock: job.lock ?? job.job, job: job.job, fencingToken, instance, ...given({ tick }) };
      hung.set(fencingToken, { ...ids, startedAt: grantedAt(fencingToken), outcome: 'running', hung: true });
    }
  if (hung.size === 0) return runs;
  for (const { fencingToken, outcome, by } of runs)
    // If a person has ended its lease, the instance of the run knows more than the record.
    if (outcome !== 'running' && outcome !== 'interrupted' && by?.action !== 'break')
      hung.delete(fencingToken);
  return [...hung.values(), ...runs.filter(({ fencingToken }) => !hung.has(fencingToken))].sort(
    (one, other) => other.fencingToken - one.fencingToken,
  );
}

/** Since when no run is missing, if some may have been dropped: those that completed are the first to be pushed out. */
function keptSince(
  runs: readonly RunInfo[],
  [{ kept }]: readonly [KnownBy, ...KnownBy[]],
  time: number,
): number | undefined {
  const completed = runs.filter(({ outcome }) => outcome === 'completed');
  const oldest = completed.at(-1)?.startedAt;
  if (oldest === undefined) return undefined;
  // If the instance does not say how many runs it keeps, some may be missing.
  const { count = 1, age = 0 } = kept ?? {};
  return completed.length >= count || oldest < time - age * NEARLY ? oldest : undefined;
}
