import type { MissEntry, MissReason } from '../contract/history-store.js';
import { given } from '../base/shared.js';
import { type JobFacts, UNLOCKED, wentOn } from './facts.js';
import type { RunInfo, WhyCause } from './types.js';

/** How long after a tick its instances ask for the lock, ms: a lease that begins in that time may have been in their way. */
const ASKED_BY = 1_000;

/** A reason that explains nothing: another instance should have run the job. */
const PASSIVE = 'not-leader';
/** Reasons of instances that could not have run the job. */
const BESIDE = new Set(['disabled', 'not-up']);
/** Reasons for which something else had the lock. */
const TAKEN = new Set(['held', 'cooling-down', 'queued', 'queue-full']);

/** Why a tick that has come was not started, as far as runs and instances show. */
export function causesOfMiss(facts: JobFacts, tick: number): WhyCause | undefined {
  if (tick > facts.time) return undefined;
  // An instance that had the job disabled, or started later, kept no other instance from the tick.
  const misses = missesOf(facts, tick).filter(({ reason }) => !BESIDE.has(reason));
  const unlocked = misses.filter(({ reason }) => reason === UNLOCKED).map(({ instance }) => instance);
  if (unlocked.length > 0) return { cause: 'unlocked', instances: unlocked };
  const overrun = facts.runs.find((run) => run.startedAt <= tick && wasInTheWay(run, tick, misses));
  if (overrun !== undefined) return { cause: 'overrun', run: overrun };
  return lockTaken(facts, tick, misses) ?? storeAway(facts, tick, misses) ?? missed(misses);
}

/** What each instance noted of a tick. One entry may stand for many ticks in a row, and names the newest. */
function missesOf(facts: JobFacts, tick: number): MissEntry[] {
  const byInstance = new Map<string, MissEntry>();
  for (const miss of facts.misses)
    if (tellsOf(miss, tick) || isDate(facts, miss, tick)) byInstance.set(miss.instance, miss);
  return [...byInstance.values()];
}

/** A store names the date of an interval by its last start: if that found a run or a pause, the interval was due some time later. */
const isDate = ({ known }: JobFacts, { tick: date, at }: MissEntry, tick: number): boolean =>
  known.kind === 'interval' && date < tick && at >= tick;

const tellsOf = ({ tick: newest, since = Infinity }: MissEntry, tick: number): boolean =>
  newest === tick || (tick >= since - ASKED_BY && tick < newest);

/** Whether a run had the lock at a tick. The lease of an interrupted run may outlive it: the misses of refused instances name its holder. */
const wasInTheWay = (run: RunInfo, tick: number, misses: readonly MissReason[]): boolean =>
  wentOn(run, Math.max(tick, run.startedAt)) ||
  (run.outcome === 'interrupted' && misses.some(({ holder }) => holder === run.instance));

const newestFirst = (one: RunInfo, other: RunInfo): number => other.fencingToken - one.fencingToken;

function lockTaken(
  { others, runs }: JobFacts,
  tick: number,
  misses: readonly MissEntry[],
): WhyCause | undefined {
  const taken = misses.find(({ reason }) => TAKEN.has(reason));
  // The reasons of instances that asked count more than a run at the same time.
  if (taken === undefined && misses.length > 0) return undefined;
  const run =
    taken?.reason === 'cooling-down'
      ? [...runs, ...others].filter(({ startedAt }) => startedAt <= tick).sort(newestFirst)[0]
      : others.find((other) => other.startedAt <= tick + ASKED_BY && wasInTheWay(other, tick, misses));
  if (taken === undefined && run === undefined) return undefined;
  return { cause: 'lock-taken', ...given({ run, holder: taken?.holder ?? run?.instance }) };
}

function storeAway({ knownBy }: JobFacts, tick: number, misses: readonly MissEntry[]): WhyCause | undefined {
  // Each instance tells times, and has its ticks, by its own clock.
  const telling = misses
    .filter(({ reason }) => reason !== PASSIVE)
    .map(({ since = tick, until, ...miss }) => {
      const { clockOffset = 0 } = knownBy.find(({ instance }) => instance === miss.instance) ?? {};
      const ended = until === undefined ? undefined : until + clockOffset;
      return { ...miss, since: Math.min(tick, since) + clockOffset, until: ended };
    });
  if (telling.length === 0 || telling.some(({ reason }) => reason !== 'store-unavailable')) return undefined;
  const ends = telling.map(({ until }) => until).filter((until) => until !== undefined);
  return {
    cause: 'store-away',
    from: Math.min(...telling.map(({ since }) => since)),
    // When the last of these instances got an answer again, if all have noted that.
    ...(ends.length === telling.length && { to: Math.max(...ends) }),
    instances: telling.map(({ instance }) => instance),
  };
}

function missed(misses: readonly MissEntry[]): WhyCause | undefined {
  if (misses.length === 0) return undefined;
  return {
    cause: 'missed',
    reasons: misses.map(({ instance, reason, count, holder, since }) => ({
      instance,
      reason,
      count,
      ...given({ holder, since }),
    })),
  };
}
