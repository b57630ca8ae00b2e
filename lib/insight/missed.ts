import type { MissEntry, MissReason } from '../stores/history-store.js';
import { datesOf } from './dates.js';
import { type JobFacts, wentOn } from './facts.js';
import type { RunInfo, WhyCause } from './types.js';

/** How long after a tick its instances ask for the lock, ms: what took it in that time may have been in their way. */
const ASKED_BY = 1_000;
/** How many ticks to count one by one; `count` says that there were more. */
const MAX_STEPS = 100;

/** Says nothing of why the job did not run: somebody else should have run it. */
const PASSIVE = new Set(['not-leader', 'disabled']);
/** Reasons for which something else had the lock. */
const TAKEN = new Set(['held', 'cooling-down', 'queued', 'queue-full']);

/** Why a tick that has come was not started, as far as runs and instances tell. */
export function causesOfMiss(facts: JobFacts, tick: number): WhyCause | undefined {
  if (tick > facts.time) return undefined;
  const misses = missesOf(facts, tick);
  const overrun = facts.runs.find(
    (run) => run.startedAt <= tick && (run.tick ?? -Infinity) < tick && wasInTheWay(run, tick, misses),
  );
  if (overrun !== undefined) return { cause: 'overrun', run: overrun };
  return lockTaken(facts, tick, misses) ?? storeAway(tick, misses) ?? missed(misses);
}

/** What each instance told of a tick. One line may tell of many ticks in a row, of which it names the newest. */
function missesOf(facts: JobFacts, tick: number): MissEntry[] {
  const byInstance = new Map<string, MissEntry>();
  for (const miss of facts.misses) if (tellsOf(facts, miss, tick)) byInstance.set(miss.instance, miss);
  return [...byInstance.values()];
}

function tellsOf(facts: JobFacts, miss: MissEntry, tick: number): boolean {
  if (miss.tick <= tick || miss.count === 1) return miss.tick === tick;
  const { kind, interval } = facts.known;
  if (kind === 'interval') return miss.tick - tick < miss.count * (interval ?? 0);
  const dates = datesOf(facts);
  if (!dates.complete) return !facts.runs.some((run) => run.startedAt >= tick && run.startedAt <= miss.tick);
  let date = tick;
  for (let steps = 1; steps < Math.min(miss.count, MAX_STEPS); steps++) {
    date = dates.next(date);
    if (date >= miss.tick) return true;
  }
  return miss.count > MAX_STEPS;
}

/** Whether a run had the lock at a tick. The lease of one that was interrupted may outlive it: those who were refused say so. */
const wasInTheWay = (run: RunInfo, tick: number, misses: readonly MissReason[]): boolean =>
  wentOn(run, Math.max(tick, run.startedAt)) ||
  (run.outcome === 'interrupted' && misses.some(({ holder }) => holder === run.instance));

function lockTaken(
  { others, runs }: JobFacts,
  tick: number,
  misses: readonly MissEntry[],
): WhyCause | undefined {
  const taken = misses.find(({ reason }) => TAKEN.has(reason));
  // What those say who asked counts more than a run at the same time.
  if (taken === undefined && misses.length > 0) return undefined;
  const run =
    taken?.reason === 'cooling-down'
      ? newestOf([...runs, ...others].filter(({ startedAt }) => startedAt <= tick))
      : others.find((other) => other.startedAt <= tick + ASKED_BY && wasInTheWay(other, tick, misses));
  if (taken === undefined && run === undefined) return undefined;
  const holder = taken?.holder ?? run?.instance;
  return {
    cause: 'lock-taken',
    ...(run !== undefined && { run }),
    ...(holder !== undefined && { holder }),
  };
}

const newestOf = (runs: readonly RunInfo[]): RunInfo | undefined =>
  [...runs].sort((one, other) => other.fencingToken - one.fencingToken)[0];

function storeAway(tick: number, misses: readonly MissEntry[]): WhyCause | undefined {
  const telling = misses.filter(({ reason }) => !PASSIVE.has(reason));
  if (telling.length === 0 || telling.some(({ reason }) => reason !== 'store-unavailable')) return undefined;
  return {
    cause: 'store-away',
    from: Math.min(tick, ...telling.map(({ since = tick }) => since)),
    to: Math.max(...telling.map(({ at }) => at)),
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
      ...(holder !== undefined && { holder }),
      ...(since !== undefined && { since }),
    })),
  };
}
