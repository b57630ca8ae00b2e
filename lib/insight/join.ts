import type { HistoryEntry, InstanceRecord, RunEntry } from '../stores/history-store.js';
import type { LockInfo } from '../stores/lock-store.js';
import type { JobFacts, KnownBy } from './facts.js';
import type { InstanceInfo, InstanceState, RunInfo } from './types.js';

/*
 * Joins what a store tells in three answers: its instances, its locks, and what it has kept of runs.
 */

/** After how many beats without one an instance counts as gone. */
const BEATS = 3;
/** Of an outcome for a lease under which nothing ran. */
const NO_RUN = 'abandoned';

export const isUp = ({ state }: { readonly state: InstanceState }): boolean => state === 'up';

/** An instance, as the store has told of it. */
export function instanceOf(record: InstanceRecord): InstanceInfo {
  const { next, last, left, every, time, jobs, ...rest } = record;
  const isGone = time - rest.seenAt > BEATS * every;
  return {
    ...rest,
    state: left ? 'left' : isGone ? 'gone' : 'up',
    jobs: jobs.map((job, index) => ({
      ...job,
      ...(typeof next[index] === 'number' && { next: next[index] }),
      ...(typeof last[index] === 'number' && { last: last[index] }),
    })),
  };
}

/** Those that are up first, and of these the newest; then those that were seen last. */
export function newestFirst(instances: readonly InstanceInfo[]): InstanceInfo[] {
  const rank = (instance: InstanceInfo): number => (isUp(instance) ? instance.startedAt : instance.seenAt);
  return [...instances].sort(
    (one, other) => Number(isUp(other)) - Number(isUp(one)) || rank(other) - rank(one),
  );
}

/** Each job, by its name, with the instances that know it, {@link newestFirst}. */
export function jobsOf(instances: readonly InstanceInfo[]): Map<string, [KnownBy, ...KnownBy[]]> {
  const jobs = new Map<string, [KnownBy, ...KnownBy[]]>();
  for (const { jobs: known, instance, state, startedAt, seenAt } of newestFirst(instances))
    for (const job of known) {
      const by = { instance, state, startedAt, seenAt, job };
      const others = jobs.get(job.job);
      if (others === undefined) jobs.set(job.job, [by]);
      else others.push(by);
    }
  return jobs;
}

/**
 * Whether a deploy has removed the job: the last instance that knew it is followed by one of the same application (it knows other jobs
 * of it), which does not know this one. If there is no such instance, the whole application may be down.
 */
export function wasRemoved(knownBy: readonly KnownBy[], instances: readonly InstanceInfo[]): boolean {
  const [last] = knownBy;
  if (last === undefined || isUp(last)) return false;
  const before = instances.find(({ instance }) => instance === last.instance)?.jobs ?? [];
  const names = new Set(before.map(({ job }) => job));
  return instances.some(
    (instance) =>
      isUp(instance) &&
      instance.startedAt > last.startedAt &&
      instance.jobs.some(({ job }) => names.has(job)),
  );
}

/** What the store knows of a lock: the lock as it is now, and what was kept of its runs. */
export interface LockFacts {
  readonly lock?: LockInfo;
  readonly entries: readonly HistoryEntry[];
}

/** The runs under a lock, newest first, with the one that goes on, or was interrupted, and of which nothing is kept yet. */
export function runsOf({ lock, entries }: LockFacts): RunInfo[] {
  const ended = entries.filter((entry) => entry.type === 'run');
  const newest = lock && newestRun(lock, ended);
  return [...ended.filter(({ outcome }) => outcome !== NO_RUN).map(runOf), ...(newest ? [newest] : [])].sort(
    (one, other) => other.fencingToken - one.fencingToken,
  );
}

/** When a lease began, by the store's clock. */
const startOf = (fencingToken: number): number => Math.floor(fencingToken / 1_000);

function runOf({ type: _, at, outcome, ...entry }: RunEntry): RunInfo {
  return {
    ...entry,
    outcome: outcome as RunInfo['outcome'],
    startedAt: startOf(entry.fencingToken),
    ...(outcome !== 'interrupted' && { endedAt: at }),
  };
}

/** The run of the newest lease, if no entry tells of it. */
function newestRun(lock: LockInfo, entries: readonly RunEntry[]): RunInfo | undefined {
  const { name, fencingToken, holder, job, state } = lock;
  if (fencingToken === undefined || holder === undefined) return undefined;
  if (entries.some((entry) => entry.fencingToken === fencingToken)) return undefined;
  const start = lock.jobs.find((candidate) => candidate.job === job);
  // The last start of the job with a tick may have been another one: then this run is by hand, and that one has an entry.
  const isItsTick =
    start?.tick !== undefined &&
    !entries.some(
      (entry) => entry.job === job && entry.tick === start.tick && entry.attempt === start.attempt,
    );
  const goesOn = state === 'held' ? 'running' : lock.interrupted ? 'interrupted' : undefined;
  const outcome = goesOn ?? (isItsTick ? start.outcome : undefined);
  if (outcome === undefined || outcome === NO_RUN) return undefined;
  const hasTick = isItsTick && (goesOn === undefined || start.outcome === undefined);
  return {
    lock: name,
    ...(job !== undefined && { job }),
    fencingToken,
    instance: holder,
    ...(hasTick && start.tick !== undefined && { tick: start.tick }),
    ...(hasTick && start.attempt !== undefined && { attempt: start.attempt }),
    startedAt: startOf(fencingToken),
    outcome,
  };
}

/** What is known of a job, from what is known of its lock and its instances. */
export function factsOf(
  knownBy: readonly [KnownBy, ...KnownBy[]],
  lockFacts: LockFacts,
  more: Pick<JobFacts, 'time' | 'ticks' | 'show'>,
): JobFacts {
  const { job: known } = knownBy[0];
  const { lock, entries } = lockFacts;
  const runs = runsOf(lockFacts);
  const since = keptSince(runs);
  return {
    ...more,
    known,
    knownBy,
    time: Math.max(more.time, lock?.time ?? 0),
    ...(lock !== undefined && { lock }),
    runs: runs.filter(({ job }) => job === known.job),
    others: runs.filter(({ job }) => job !== known.job),
    misses: entries
      .filter((entry) => entry.type === 'miss')
      .filter(({ job }) => job === known.job)
      .sort((one, other) => other.tick - one.tick),
    ...(since !== undefined && { since }),
  };
}

/** Since when no run is missing: those that completed are the first to be pushed out. */
function keptSince(runs: readonly RunInfo[]): number | undefined {
  const completed = runs.filter(({ outcome }) => outcome === 'completed');
  return (completed.length > 0 ? completed : runs).at(-1)?.startedAt;
}
