import type { StoredLine, StoredRun } from '../history.js';
import { describeRun, type Finding } from './finding.js';
import {
  groupBy,
  mayForget,
  type Model,
  READING,
  type Run,
  type ToldLease,
  troublesIn,
  wasBroken,
} from './model.js';
import { UNKNOWN } from './spans.js';

/** How long before and after a fault calls may be under way whose answers never come, ms: connections are made again. */
const AFTERMATH = 3_000;
/** A process that is told to end, or is killed, may still be about to write a line of its last grant, ms. */
const LAST_WORDS = 1_000;
/** Of a lease under which nothing ran. */
const NOTHING_RAN: ReadonlySet<string> = new Set(['abandoned', 'interrupted']);

type Counts = Record<string, number>;

/** A lock: what the store has kept of it, and what the instances know. */
interface Lock {
  readonly stored: StoredLine;
  readonly runs: readonly Run[];
  /** By their fencing tokens, in that order. */
  readonly leases: ReadonlyMap<number, ToldLease>;
}

/**
 * What the store has kept of runs is what happened. Each run whose release was confirmed is there once, as its process knew it. One that
 * nobody ended is there as interrupted, or is the newest lease of its lock, which says so by itself. Nothing else is there.
 *
 * Counted apart: what a data loss has taken; interruptions of which nobody could tell, as whoever was granted the lock next was in trouble
 * just then, or keeps no history; and, as stores keep records a moment after the release, those that were lost in between.
 */
export function checkRecorded(model: Model): Finding {
  const counts: Counts = {};
  const violations: string[] = [];
  const runsOf = groupBy(model.runs, ({ lock }) => lock);
  const leasesOf = groupBy(model.leases, ({ confirmed: [first] }) => first?.lock);
  for (const stored of model.stored) {
    const leases = (leasesOf.get(stored.lock) ?? []).map((lease) => [tokenOf(lease), lease] as const);
    const lock = {
      stored,
      runs: runsOf.get(stored.lock) ?? [],
      leases: new Map(leases.sort(([a], [b]) => a - b)),
    };
    violations.push(...checkRuns(model, lock, counts), ...checkEntries(model, lock, counts));
  }
  const entries = model.stored.reduce((sum, { runs }) => sum + runs.length, 0);
  return {
    check: 'recorded history',
    violations,
    counts: { 'runs that are kept': entries, ...Object.fromEntries(Object.entries(counts).sort()) },
  };
}

const tokenOf = ({ confirmed: [first] }: ToldLease): number => first?.token ?? 0;

function count(counts: Counts, what: string): undefined {
  counts[what] = (counts[what] ?? 0) + 1;
  return undefined;
}

/** Each run is kept as it was. */
function checkRuns(model: Model, lock: Lock, counts: Counts): string[] {
  const kept = groupBy(lock.stored.runs, ({ token }) => token);
  return lock.runs.flatMap((run) => {
    if (!run.facts.kept) return [];
    const [entry, ...more] = kept.get(run.token) ?? [];
    if (more.length > 0) return [`${describeRun(run)} is kept ${more.length + 1} times`];
    const wrong = [
      entry === undefined ? undefined : differs(run, entry, counts),
      run.releasedAt === undefined
        ? checkUnended(model, lock, run, entry, counts)
        : checkEnded(model, run, run.releasedAt, entry, counts),
    ];
    return wrong.filter((text) => text !== undefined);
  });
}

/**
 * What is kept of whose run it was is right, however it ended. A database does not know the job of an interrupted run that had no tick and
 * no interval: counted apart.
 */
function differs(run: Run, entry: StoredRun, counts: Counts): string | undefined {
  const wanted = [`${run.i}.${run.n}`, run.job, run.tick, run.attempt];
  const isNameless = entry.outcome === 'interrupted' && entry.job === undefined && run.facts.kind === 'call';
  if (isNameless) count(counts, 'interrupted, and of a job that the store does not know');
  const found = [entry.instance, isNameless ? run.job : entry.job, entry.tick, entry.attempt ?? 1];
  return wanted.every((value, index) => value === found[index])
    ? undefined
    : `${describeRun(run)} is kept as one of ${found.join(', ')}`;
}

function checkEnded(
  model: Model,
  run: Run,
  releasedAt: number,
  entry: StoredRun | undefined,
  counts: Counts,
): string | undefined {
  if (entry === undefined) {
    if (mayForget(model, releasedAt, model.begin.keptWithin))
      return count(counts, 'forgotten with the data of the store');
    if (wasLostBetween(model, run, releasedAt)) return count(counts, 'lost between release and record');
    return `${describeRun(run)} was released at ${releasedAt.toFixed(0)}, and is not kept`;
  }
  if (entry.outcome === run.outcome) return undefined;
  if (entry.outcome === 'interrupted' && mayForget(model, releasedAt))
    return count(counts, 'interrupted, as the store forgot their end');
  // The lease goes on for a moment, for the next queued call: whoever dies then leaves a lease that ends by itself.
  const isQueued = run.delivery !== undefined;
  if (isQueued && entry.outcome === 'interrupted' && wasLostBetween(model, run, releasedAt))
    return count(counts, 'interrupted between the end of a queued call and the release');
  return `${describeRun(run)} ended as ${run.outcome}, and is kept as ${entry.outcome}`;
}

/** Whether the record was still to be kept when its process ended, or the store went away. */
function wasLostBetween(model: Model, { downAt = Infinity, i }: Run, releasedAt: number): boolean {
  const { keptWithin } = model.begin;
  if (keptWithin === 0) return false;
  const by = releasedAt + keptWithin + READING;
  return downAt <= by || troublesIn(model, releasedAt, by, i).length > 0;
}

function checkUnended(
  model: Model,
  lock: Lock,
  run: Run,
  entry: StoredRun | undefined,
  counts: Counts,
): string | undefined {
  const isKilled = run.endedAt === undefined && run.downAt !== undefined;
  if (entry?.outcome === 'interrupted') return count(counts, 'interrupted');
  if (entry?.outcome === 'aborted' && wasBroken(model, run)) return count(counts, 'ended by somebody');
  // Whether its end has reached the store, nobody knows.
  if (!isKilled || run.lostAt !== undefined || run.outcome !== undefined)
    return count(counts, `end not confirmed, ${entry === undefined ? 'not ' : ''}kept`);
  if (entry !== undefined) {
    const { until = Infinity } = model.lives.find(({ i, n }) => i === run.i && n === run.n) ?? {};
    // A shutdown does not wait for the job.
    if (until < (run.downAt ?? 0)) return count(counts, 'left by a shutdown');
    return `${describeRun(run)} was killed in its midst, and is kept as ${entry.outcome}`;
  }
  if (lock.stored.unended === run.token) return count(counts, 'interrupted, and the newest lease');
  const excuse = whyNotTold(model, lock, run);
  return excuse === undefined
    ? `${describeRun(run)} was killed in its midst, and nobody has told`
    : count(counts, excuse);
}

/** Why nobody has told that a run was interrupted: the holder of the next lease of its lock does, once. */
function whyNotTold(model: Model, { leases }: Lock, run: Run): string | undefined {
  const { troubles, lives, over } = model;
  if (troubles.some(({ loses, to }) => loses && to + READING >= run.m))
    return 'forgotten with the data of the store';
  const [, next] = [...leases].find(([token]) => token > run.token) ?? [];
  const { i, n, m = over, job = '' } = next?.confirmed[0] ?? {};
  const { storeTimeout } = run.facts;
  const unanswered = [
    ...model.calls.filter((call) => call.run === undefined && call.skipped === undefined),
    ...model.refusals.filter(({ reason }) => UNKNOWN.has(reason)),
  ].some(
    (call) =>
      model.jobs.get(call.job)?.lock === run.lock && call.m >= run.m && call.m <= m + storeTimeout + READING,
  );
  if (unanswered) return 'not told, the next holder did not get its grant';
  if (next === undefined || i === undefined) return undefined;
  if (model.jobs.get(next.run?.job ?? job)?.kept !== true)
    return 'not told, the next holder keeps no history';
  const { until = 0 } = lives.find((life) => life.i === i && life.n === n) ?? {};
  const inTrouble =
    until <= m + LAST_WORDS || troublesIn(model, m - storeTimeout, m + storeTimeout, i).length > 0;
  return inTrouble ? 'not told, the next holder was in trouble' : undefined;
}

/** Nothing is kept that never was. */
function checkEntries(model: Model, { stored, runs, leases }: Lock, counts: Counts): string[] {
  const known = new Set(runs.map(({ token }) => token));
  return stored.runs.flatMap((entry) => {
    const { token, outcome, instance } = entry;
    if (known.has(token)) return [];
    const what = `a run of ${entry.job ?? stored.lock} on ${instance} (fencing token ${token}) is kept as ${outcome}`;
    // Somebody can end a lease before its process hears of the grant.
    const ranNothing =
      NOTHING_RAN.has(outcome) || (outcome === 'aborted' && wasBroken(model, { lock: stored.lock, token }));
    if (leases.has(token)) return ranNothing ? [] : [`${what}, though nothing ran`];
    // Granted, but the answer never came, or its process died before it could write a line.
    if (!ranNothing || !wasInTrouble(model, entry)) return [`${what}, and never was`];
    count(counts, 'grants that were never answered');
    return [];
  });
}

/** Whether something was wrong with the instance or the store when the lease began. Its token tells, by the clock of the store. */
function wasInTrouble(model: Model, { token, instance }: StoredRun): boolean {
  const { begin, lives, steps } = model;
  const life = lives.find(({ i, n }) => `${i}.${n}` === instance);
  if (life === undefined) return false;
  const at = token / 1_000 - (begin.w - begin.m);
  const shifts = [0, ...steps.map(({ by }) => Math.abs(by)).filter((by) => by > 0)];
  const spans = shifts.flatMap((by) => [at - by, at + by]);
  return spans.some(
    (m) =>
      Math.abs(life.until - m) <= AFTERMATH ||
      troublesIn(model, m - AFTERMATH, m + AFTERMATH, life.i).length > 0,
  );
}
