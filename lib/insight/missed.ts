import type { MissEntry, MissReason } from '../contract/history-store.js';
import { given } from '../base/shared.js';
import { type JobFacts, UNLOCKED, wentOn } from './facts.js';
import { newestFirst } from './join.js';
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
  const cause = lockTaken(facts, tick, misses) ?? storeAway(facts, tick, misses);
  return cause ?? (misses.length > 0 ? { cause: 'missed', reasons: misses.map(reasonOf) } : undefined);
}

/**
 * What each instance noted of a tick. One entry may stand for many ticks in a row, and names the newest. A store names the date of an
 * interval by its last start: if that found a run or a pause, the interval was due some time later.
 */
function missesOf({ known, misses }: JobFacts, tick: number): MissEntry[] {
  const telling = misses.filter(
    ({ tick: newest, since = Infinity, at }) =>
      tick >= Math.min(newest, since - ASKED_BY) &&
      (tick <= newest || (known.kind === 'interval' && tick <= at)),
  );
  return [...new Map(telling.map((miss) => [miss.instance, miss])).values()];
}

/** Whether a run had the lock at a tick. The lease of an interrupted run may outlive it: the misses of refused instances name its holder. */
const wasInTheWay = (run: RunInfo, tick: number, misses: readonly MissReason[]): boolean =>
  wentOn(run, Math.max(tick, run.startedAt)) ||
  (run.outcome === 'interrupted' && misses.some(({ holder }) => holder === run.instance));

function lockTaken(facts: JobFacts, tick: number, misses: readonly MissEntry[]): WhyCause | undefined {
  const { others, runs } = facts;
  const taken = misses.find(({ reason }) => TAKEN.has(reason));
  // The reasons of instances that asked count more than a run at the same time.
  if (taken === undefined && misses.length > 0) return undefined;
  const run =
    taken?.reason === 'cooling-down'
      ? [...runs, ...others].sort(newestFirst).find(({ startedAt }) => startedAt <= tick)
      : others.find((other) => other.startedAt <= tick + ASKED_BY && wasInTheWay(other, tick, misses));
  if (taken === undefined && run === undefined) return undefined;
  return { cause: 'lock-taken', ...given({ run, holder: taken?.holder ?? run?.instance }) };
}

function storeAway({ knownBy }: JobFacts, tick: number, misses: readonly MissEntry[]): WhyCause | undefined {
  const telling = misses.filter(({ reason }) => reason !== PASSIVE);
  if (telling.length === 0 || telling.some(({ reason }) => reason !== 'store-unavailable')) return undefined;
  // Each instance tells times, and has its ticks, by its own clock.
  const offsetOf = (miss: MissEntry): number =>
    knownBy.find(({ instance }) => instance === miss.instance)?.clockOffset ?? 0;
  const begins = telling.map((miss) => Math.min(tick, miss.since ?? tick) + offsetOf(miss));
  // When the last of these instances got an answer again: not known if one has not noted that.
  const to = Math.max(...telling.map((miss) => (miss.until ?? NaN) + offsetOf(miss)));
  const instances = telling.map(({ instance }) => instance);
  return { cause: 'store-away', from: Math.min(...begins), ...(!Number.isNaN(to) && { to }), instances };
}

/** What an instance noted, without what it is about. */
const reasonOf = ({ type: _type, lock: _lock, job: _job, tick: _tick, at: _at, ...reason }: MissEntry) =>
  reason;
