import type { FiredLine, JobFacts, SkippedLine } from '../history.js';
import { drift, type Model, READING, setBack } from './model.js';
import { executedBy, freedAt } from './spans.js';

/**
 * The obstacle of a refused call, according to the rest of the history; `undefined` if there was none.
 *
 * The store judged the call at some time from `fired` to `refused`.
 */
export function blockerAt(
  model: Model,
  { lock }: JobFacts,
  { m: fired, i, n, job }: FiredLine,
  { m: refused }: SkippedLine,
): 'held' | "a dead holder's remaining lease" | 'cooling down' | undefined {
  const calls = model.callsOf.get(lock) ?? [];
  // No lease was granted before its call was made.
  const ofLock = calls.flatMap(({ m, run }) => (run !== undefined && m <= refused + READING ? [run] : []));
  // A lease whose release the store has confirmed blocks no call. Without a confirmation, calls may still be under
  // way.
  const inTheWay = ofLock.filter((run) => (freedAt(model, run) ?? Infinity) + READING >= fired);
  if (inTheWay.some((run) => run.believedUntil + slack(run.facts) >= fired)) return 'held';
  // A run whose lease was lost goes on, and its own process does not begin another one.
  const alsoBusy = (run: { i: string; n: number }): boolean => run.i === i && run.n === n;
  if (inTheWay.some((run) => alsoBusy(run) && (run.endedAt ?? Infinity) + slack(run.facts) >= fired))
    return 'held';
  // It asks for the lock already, for another job, and has no answer yet: nor does it begin to ask for this one, then.
  const asks = calls.some(
    (other) =>
      alsoBusy(other) &&
      other.job !== job &&
      other.m <= refused &&
      (other.skipped?.m ?? -Infinity) >= refused,
  );
  if (asks) return 'held';
  const longer = (from: number): number => setBack(model, from, refused);
  const cooling = ofLock.some(
    ({ m: start, facts }) =>
      facts.atLeast > 0 && start + facts.atLeast + longer(start) + slack(facts) >= fired,
  );
  if (cooling) return 'cooling down';
  const remaining = inTheWay.some(
    ({ m, deadline, facts }) => deadline + drift(facts.ttl) + longer(m) + slack(facts) >= fired,
  );
  if (remaining) return "a dead holder's remaining lease";
  // Granted to an instance that never got the answer, and died or took the grant back.
  const orphan = calls.some((call) => {
    const facts = model.jobs.get(call.job);
    if (facts === undefined || call.run !== undefined || call.m > refused) return false;
    const unknown = call.skipped === undefined || call.skipped.reason === 'store-unavailable';
    return unknown && executedBy(model, call, facts) + facts.ttl + longer(call.m) + slack(facts) >= fired;
  });
  return orphan ? "a dead holder's remaining lease" : undefined;
}

/** The time for two calls of the store, and a margin, ms. */
const slack = ({ storeTimeout }: JobFacts): number => 2 * storeTimeout + 500;
