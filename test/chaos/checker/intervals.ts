import type { JobFacts } from '../history.js';
import { describeRun, type Finding } from './finding.js';
import { askedAt, type Model, READING, type Run } from './model.js';
import { healthySpans, takenSpans } from './spans.js';

/** How much of an interval a run may come early, as documented: timers are late by different amounts. */
const ALLOWANCE = 0.1;
/** How long after a fault calls may still fail: connections are made again, ms. */
const AFTERMATH = 3_000;
/**
 * How many intervals may pass without a run when nothing is wrong. One has begun; one more if the clock of the store
 * was set back so little that the due time still counts. One until the next timer of a single instance, and one for
 * slow machines.
 */
const PATIENCE = 4;

/**
 * A job of an interval runs once per interval over the whole fleet, and does not starve, as long as one instance is
 * well, the store answers it, and the lock is free. After a step of the store's clock, or if the store has forgotten
 * the last run, a run may come early: such runs are counted apart.
 */
export function checkIntervals(model: Model): Finding {
  const violations: string[] = [];
  let early = 0;
  let gaps = 0;
  let longest = 0;
  for (const facts of model.jobs.values()) {
    if (facts.kind !== 'interval') continue;
    const runs = model.runs.filter(({ job }) => job === facts.job);
    for (const [index, run] of runs.entries()) {
      const before = runs[index - 1];
      if (before === undefined || !areTooClose(model, before, run)) continue;
      if (isExcused(model, before, run)) early += 1;
      else
        violations.push(
          `${describeRun(run)} is less than an interval (${facts.every} ms) after ${describeRun(before)}`,
        );
    }
    for (const { from, to } of starving(model, facts)) {
      gaps += 1;
      longest = Math.max(longest, to - from);
      violations.push(
        `${facts.job} was not run for ${(to - from).toFixed(0)} ms from ${from.toFixed(0)} on, though an instance was well`,
      );
    }
  }
  return {
    check: 'intervals are kept',
    violations,
    counts: {
      'starved, times': gaps,
      'starved for, at most': `${(longest / 1_000).toFixed(2)} s`,
      'early after a step of the clock or a data loss': early,
    },
  };
}

/** Whether two runs are too close. Each was granted at some time between its call and its first line. */
function areTooClose(model: Model, a: Run, b: Run): boolean {
  const least = (1 - ALLOWANCE) * a.facts.every - 1;
  return b.m - askedAt(model, a) < least && a.m - askedAt(model, b) < least;
}

function isExcused({ steps, troubles }: Model, a: Run, b: Run): boolean {
  const from = a.m - a.facts.every;
  if (steps.some(({ m }) => m >= from && m <= b.m + READING)) return true;
  return troubles.some((trouble) => trouble.loses && trouble.to >= from && trouble.from <= b.m);
}

/** The spans in which it should have run. */
function starving(model: Model, { job, lock, every }: JobFacts): { from: number; to: number }[] {
  const starts = model.runs.filter((run) => run.job === job).map(({ m }) => m);
  const taken = takenSpans(model, lock);
  /** From when on, by until when: several instances may have been well. */
  const found = new Map<number, number>();
  for (const life of model.lives) {
    for (const healthy of healthySpans(model, life)) {
      // Its first timer comes an interval after its start.
      let since = healthy.from + (healthy.from === life.up ? every : AFTERMATH);
      for (;;) {
        for (const { from, to } of taken) if (from <= since + READING && to > since) since = to;
        const next = starts.find((m) => m > since) ?? Infinity;
        const busy = taken.find(({ from, to }) => from > since && to > from);
        const to = Math.min(next, busy?.from ?? Infinity, healthy.to);
        if (to - since > PATIENCE * every) found.set(to, Math.min(found.get(to) ?? Infinity, since));
        if (to >= healthy.to) break;
        since = to + READING;
      }
    }
  }
  return [...found].map(([to, from]) => ({ from, to }));
}
