import type { JobFacts } from '../history.js';
import { drift, type Life, type Model, READING, type Run, setBack, troublesIn } from './model.js';

/** From when to when, ms. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The parts of a span that no other span covers. */
export function without(whole: Span, others: readonly Span[]): Span[] {
  let left = [whole];
  for (const { from, to } of others) {
    left = left.flatMap((span) =>
      [
        { from: span.from, to: Math.min(span.to, from) },
        { from: Math.max(span.from, to), to: span.to },
      ].filter((part) => part.to > part.from),
    );
  }
  return left;
}

/** The spans of a life without troubles of the instance or the store; with `busy`, without injected ones. */
export function healthySpans(model: Model, { i, up, until }: Life, busy = false): Span[] {
  const whole = { from: up, to: Math.min(until, model.over) };
  if (whole.to <= whole.from) return [];
  const troubles = troublesIn(model, whole.from, whole.to, i);
  return without(
    whole,
    troubles.filter(({ injected }) => injected || !busy),
  );
}

/** When the store confirmed the release of the lease; `undefined` if it did not, or has forgotten that. */
export function freedAt({ troubles }: Model, { releasedAt }: Run): number | undefined {
  const forgotten = troubles.some(
    ({ loses, since, to }) =>
      loses && releasedAt !== undefined && since - READING <= releasedAt && releasedAt <= to && since > 0,
  );
  return forgotten ? undefined : releasedAt;
}

/** Until when the store may still carry out an unanswered call: a frozen process or store goes on with it later. */
export function executedBy(
  model: Model,
  { i, m }: { i: string; m: number },
  { storeTimeout }: JobFacts,
): number {
  const near = troublesIn(model, m - storeTimeout, m + storeTimeout, i);
  return Math.max(m, ...near.map(({ to }) => to));
}

/** After a call with one of these outcomes, the store may have granted the lease all the same. */
export const UNKNOWN: ReadonlySet<string> = new Set(['store-unavailable', 'shutting-down']);

/** When a lock may have been taken: by runs, and by calls that never got their answer. */
export function takenSpans(model: Model, lock: string): Span[] {
  const { runs, calls, refusals, jobs } = model;
  const byRuns = runs.flatMap((run): Span[] => {
    if (run.lock !== lock) return [];
    const { m, facts, deadline, lostAt, endedAt = m } = run;
    const expires = deadline + drift(facts.ttl) + setBack(model, m, deadline + facts.ttl);
    const freed = Math.max(freedAt(model, run) ?? expires, m + facts.atLeast);
    // A run goes on after a loss, and its own process does not begin another one.
    return [{ from: m, to: lostAt === undefined ? freed : Math.max(freed, endedAt) }];
  });
  const asked = [
    ...calls.filter(({ run, skipped }) => run === undefined && skipped === undefined),
    ...refusals.filter(({ reason }) => UNKNOWN.has(reason)),
  ];
  const byNobody = asked.flatMap((line): Span[] => {
    const facts = jobs.get(line.job);
    if (facts?.lock !== lock) return [];
    const by = executedBy(model, line, facts);
    const expires = by + facts.ttl + 2 * facts.storeTimeout;
    return [{ from: line.m - facts.storeTimeout, to: expires + setBack(model, line.m, expires) }];
  });
  return [...byRuns, ...byNobody].sort((a, b) => a.from - b.from);
}
