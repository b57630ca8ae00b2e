import { describeRun, type Finding } from './finding.js';
import { type Model, type Run, troublesIn } from './model.js';

/** For a grant, the answer, and a scheduler's own delay, ms. */
const GRACE = 1_000;

/**
 * Limits the time to take over after a holder was killed, with the store and another instance healthy. It is at most
 * the lease's remainder + period + 1 s. With `rerun`, if an instance knew of the run before it was interrupted, and no
 * newer tick comes first, it is at most remainder + 1 s.
 *
 * An instance whose clock is behind that of the dead holder has its ticks later by as much: a tick that was started is
 * never started again. If only such instances are healthy, the take-over may take that much longer.
 */
export function checkTakeOver(model: Model): Finding {
  const violations: string[] = [];
  const times: number[] = [];
  let unjudged = 0;
  for (const { from: killedAt, i, fault } of model.troubles) {
    if (fault !== 'kill') continue;
    for (const run of model.runs) {
      const holding = run.i === i && run.m < killedAt && run.believedUntil > killedAt;
      if (!holding || run.downAt === undefined || run.downAt < killedAt) continue;
      const limit = limitOf(model, run, killedAt);
      if (limit === undefined) {
        unjudged += 1;
        continue;
      }
      const next = model.runs.find((other) => other.lock === run.lock && other.m > run.downAt!);
      const took = (next?.m ?? Infinity) - killedAt;
      if (took > limit) {
        const how = next === undefined ? 'never' : `after ${took.toFixed(0)} ms`;
        violations.push(
          `${describeRun(run)} was killed at ${killedAt.toFixed(0)} and replaced ${how}, not within ${limit.toFixed(0)} ms`,
        );
      } else times.push(took);
    }
  }
  times.sort((a, b) => a - b);
  return {
    check: 'dead holders are replaced',
    violations,
    counts: {
      'holders killed': times.length + violations.length + unjudged,
      'not judged (no other instance, or not the store, was healthy)': unjudged,
      'time to take over, median': inSeconds(percentile(times, 0.5)),
      'time to take over, p99': inSeconds(percentile(times, 0.99)),
    },
  };
}

/** How long the take-over may take, ms; `undefined` if no instance was there to do it. */
function limitOf(model: Model, run: Run, killedAt: number): number | undefined {
  const { begin, over } = model;
  const { ttl, every, rerun } = run.facts;
  const remainder = Math.max(0, run.deadline + 0.01 * ttl + 2 - killedAt);
  const limits = Object.keys(begin.offsets).flatMap((other) => {
    if (other === run.i) return [];
    const behind = Math.max(0, (begin.offsets[run.i] ?? 0) - (begin.offsets[other] ?? 0));
    const soon = remainder + GRACE;
    const limit =
      rerun >= run.attempt && watches(model, run, other, killedAt, soon) ? soon : soon + every + behind;
    const until = killedAt + limit;
    const up = model.lives.some(
      ({ i, up: since, until: end }) => i === other && since < killedAt - every - GRACE && end > until,
    );
    const well = troublesIn(model, killedAt - ttl, until, other).length === 0;
    // After a step of the clock, the remainder of a lease differs from what its holder knew.
    const stepped = model.steps.some(({ m }) => m >= killedAt - ttl && m <= until);
    return up && until < over && well && !stepped ? [limit] : [];
  });
  return limits.length === 0 ? undefined : Math.min(...limits);
}

/** Whether this instance was refused because of this very run, and has no newer tick before it can be repeated. */
function watches(model: Model, run: Run, other: string, killedAt: number, soon: number): boolean {
  const { begin, calls } = model;
  if (run.tick === undefined) return false;
  const newer = run.tick + run.facts.every - (begin.w - begin.m) - (begin.offsets[other] ?? 0);
  if (newer <= killedAt + soon) return false;
  return calls.some(({ i, job, skipped }) => {
    if (i !== other || job !== run.job || skipped === undefined) return false;
    return (
      skipped.tick === run.tick && skipped.finished === false && skipped.m > run.m && skipped.m < killedAt
    );
  });
}

/** @param sorted in ascending order */
function percentile(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)];
}

const inSeconds = (ms: number | undefined): string =>
  ms === undefined ? '-' : `${(ms / 1_000).toFixed(2)} s`;
