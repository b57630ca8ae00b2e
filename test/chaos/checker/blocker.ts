import type { JobFacts, SkippedLine } from '../history.js';
import type { Model } from './model.js';

/** What a lease lives longer in the store than its holder may believe, as documented: 1 % of the ttl and 2 ms. */
const drift = (ttl: number): number => 0.01 * ttl + 2;

/**
 * What was in the way of a call that was refused, as the rest of the history knows it; `undefined` if nothing was.
 */
export function blockerAt(
  { runs, calls, jobs }: Model,
  { lock }: JobFacts,
  { m, i, n }: SkippedLine,
): 'held' | "a dead holder's remaining lease" | 'cooling down' | undefined {
  const ofLock = runs.filter((run) => run.lock === lock && run.m - slack(run.facts) <= m);
  // Within the time that grants, releases and their answers take.
  if (ofLock.some((run) => run.believedUntil + slack(run.facts) >= m)) return 'held';
  // A run whose lease was lost goes on: its own process does not begin another one.
  const alsoBusy = (run: { i: string; n: number }): boolean => run.i === i && run.n === n;
  if (ofLock.some((run) => alsoBusy(run) && (run.endedAt ?? Infinity) + slack(run.facts) >= m)) return 'held';
  const cooling = ofLock.some(
    ({ m: start, facts }) => facts.atLeast > 0 && start + facts.atLeast + slack(facts) >= m,
  );
  if (cooling) return 'cooling down';
  const remaining = ofLock.some((run) => {
    if (run.releasedAt !== undefined) return false;
    return run.deadline + drift(run.facts.ttl) + slack(run.facts) >= m;
  });
  if (remaining) return "a dead holder's remaining lease";
  // Granted to somebody who never got to know, and died or took it back.
  const orphan = calls.some((call) => {
    const facts = jobs.get(call.job);
    if (facts?.lock !== lock || call.run !== undefined || call.m > m) return false;
    const unknown = call.skipped === undefined || call.skipped.reason === 'store-unavailable';
    return unknown && call.m + facts.ttl + slack(facts) >= m;
  });
  return orphan ? "a dead holder's remaining lease" : undefined;
}

/** Two calls of the store and some more, ms. */
const slack = ({ storeTimeout }: JobFacts): number => 2 * storeTimeout + 500;
