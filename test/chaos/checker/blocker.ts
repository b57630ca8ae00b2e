import type { FiredLine, JobFacts, SkippedLine } from '../history.js';
import type { Model } from './model.js';

/** What a lease lives longer in the store than its holder may believe, as documented: 1 % of the ttl and 2 ms. */
const drift = (ttl: number): number => 0.01 * ttl + 2;

/** Two lines of different processes may be written in the wrong order, ms. */
const READING = 20;

/**
 * What was in the way of a call that was refused, as the rest of the history knows it; `undefined` if nothing was.
 *
 * The store judged it at some time from `fired` to `refused`.
 */
export function blockerAt(
  { calls, jobs }: Model,
  { lock }: JobFacts,
  { m: fired, i, n }: FiredLine,
  { m: refused }: SkippedLine,
): 'held' | "a dead holder's remaining lease" | 'cooling down' | undefined {
  // None was granted before its call was made.
  const ofLock = calls.flatMap((call) =>
    call.run?.lock === lock && call.m <= refused + READING ? [call.run] : [],
  );
  // What the store has confirmed to be released is in nobody's way; where it has not, calls may still be under way.
  const inTheWay = ofLock.filter(({ releasedAt = Infinity }) => releasedAt + READING >= fired);
  if (inTheWay.some((run) => run.believedUntil + slack(run.facts) >= fired)) return 'held';
  // A run whose lease was lost goes on: its own process does not begin another one.
  const alsoBusy = (run: { i: string; n: number }): boolean => run.i === i && run.n === n;
  if (inTheWay.some((run) => alsoBusy(run) && (run.endedAt ?? Infinity) + slack(run.facts) >= fired))
    return 'held';
  const cooling = ofLock.some(
    ({ m: start, facts }) => facts.atLeast > 0 && start + facts.atLeast + slack(facts) >= fired,
  );
  if (cooling) return 'cooling down';
  const remaining = inTheWay.some(
    ({ deadline, facts }) => deadline + drift(facts.ttl) + slack(facts) >= fired,
  );
  if (remaining) return "a dead holder's remaining lease";
  // Granted to somebody who never got to know, and died or took it back.
  const orphan = calls.some((call) => {
    const facts = jobs.get(call.job);
    if (facts?.lock !== lock || call.run !== undefined || call.m > refused) return false;
    const unknown = call.skipped === undefined || call.skipped.reason === 'store-unavailable';
    return unknown && call.m + facts.ttl + slack(facts) >= fired;
  });
  return orphan ? "a dead holder's remaining lease" : undefined;
}

/** Two calls of the store and some more, ms. */
const slack = ({ storeTimeout }: JobFacts): number => 2 * storeTimeout + 500;
