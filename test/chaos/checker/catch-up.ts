import type { JobFacts } from '../history.js';
import type { Finding } from './finding.js';
import { type Call, groupBy, type Life, type Model, troublesIn } from './model.js';
import { healthySpans, type Span, takenSpans, UNKNOWN, without } from './spans.js';
import { dueAt, dueTicks, tickOf } from './ticks.js';

/**
 * How long an instance may take to ask again after a fault, ms: connections are made again. Moments in which the machine
 * was busy do not count.
 */
const SETTLED = 3_500;

/** After a refusal for one of these reasons, an instance asks again. */
const OWING: ReadonlySet<string> = new Set(['held', 'cooling-down', 'store-unavailable']);

/** A tick that no instance ran, with the facts about its time. */
interface Missed {
  readonly facts: JobFacts;
  readonly tick: number;
  /** From when it first came, until it is no longer the newest, or too old, on any instance. */
  readonly window: Span;
  /** The calls that were fired for it. */
  readonly calls: readonly Call[];
  /** When its lock was taken. */
  readonly taken: readonly Span[];
  /** Whether its job had run before. */
  readonly known: boolean;
}

/**
 * With `catchUp`, a tick that met a taken lock, or a store that was away, runs when that is over, while it is the newest,
 * and young enough. So does the newest tick when an instance starts.
 *
 * The check judges ticks that no instance ran, although an instance with a reason to ask was well for long enough, with
 * the lock free. A data loss forgets whether the job ever ran. And no instance can take back a grant for one that died
 * before it got the answer. These cases are counted apart.
 */
export function checkCatchUp(model: Model): Finding {
  const violations: string[] = [];
  const counts = { run: 0, 'run late by over a second': 0, 'not run, nobody could': 0, 'not judged': 0 };
  const lives = model.lives.map((life) => ({ life, healthy: healthySpans(model, life, true) }));
  for (const facts of model.jobs.values()) {
    if (facts.catchUp === 0) continue;
    const runs = model.runs.filter(({ job }) => job === facts.job);
    const ofJob = model.calls.filter(({ job }) => job === facts.job);
    const byTick = groupBy(ofJob, ({ w }) => tickOf(model, facts.job, w));
    const taken = takenSpans(model, facts.lock);
    for (const tick of dueTicks(model, facts)) {
      const run = runs.find((one) => one.tick === tick);
      if (run !== undefined) {
        counts.run += 1;
        if (run.m - dueAt(model, tick, run.i) > 1_000) counts['run late by over a second'] += 1;
        continue;
      }
      // On the instance with the fastest clock, the tick is first too old, or overtaken.
      const due = Math.min(...Object.keys(model.begin.offsets).map((i) => dueAt(model, tick, i)));
      const window = { from: due, to: Math.min(due + Math.min(facts.catchUp, facts.every), model.over) };
      const near = taken.filter(({ from, to }) => from <= window.to && to >= window.from);
      const known = (runs[0]?.m ?? Infinity) <= window.from;
      const missed = { facts, tick, window, calls: byTick.get(tick) ?? [], taken: near, known };
      const could = isUnknown(model, missed) ? 'unknown' : whoCould(model, lives, missed);
      if (could === 'unknown' || (could === undefined && !known)) counts['not judged'] += 1;
      else if (could === undefined) counts['not run, nobody could'] += 1;
      else
        violations.push(
          `nobody ran tick ${new Date(tick).toISOString()} of ${facts.job}, though ${could.i}.${could.n} (${could.why}) ` +
            `could have from ${could.from.toFixed(0)} to ${could.to.toFixed(0)}`,
        );
    }
  }
  return { check: 'late ticks are caught up', violations, counts };
}

function isUnknown(model: Model, { facts: { every }, window: { from, to }, calls }: Missed): boolean {
  if (model.troubles.some((one) => one.loses && one.to >= from - 2 * every && one.from <= to)) return true;
  return calls.some(({ i, n, run, skipped, refusals }) => {
    if (run === undefined && skipped === undefined) return true;
    const owed = refusals.some(({ reason }) => OWING.has(reason) || UNKNOWN.has(reason));
    const life = model.lives.find((one) => one.i === i && one.n === n);
    return owed && (life === undefined || life.until < to);
  });
}

interface Could extends Span {
  readonly i: string;
  readonly n: number;
  readonly why: string;
}

function whoCould(
  model: Model,
  lives: readonly { life: Life; healthy: readonly Span[] }[],
  missed: Missed,
): Could | undefined {
  const { tick, window, taken } = missed;
  const asking = lives.flatMap(({ life, healthy }) => {
    const why = whyItAsks(model, missed, life);
    return why === undefined ? [] : [{ ...life, healthy, why }];
  });
  // An instance first has to take back a grant whose answer it did not get.
  const ill = asking.flatMap(({ healthy, why }) =>
    why === 'store-unavailable' ? without(window, healthy) : [],
  );
  for (const { i, n, healthy, why } of asking) {
    for (const span of healthy) {
      const whole = { from: Math.max(span.from, dueAt(model, tick, i)), to: Math.min(span.to, window.to) };
      if (whole.to - whole.from < SETTLED) continue;
      const stalls = troublesIn(model, whole.from, whole.to, i);
      const enough = without(whole, [...taken, ...ill]).find(
        (free) => lengthOf(without(free, stalls)) >= SETTLED,
      );
      if (enough !== undefined) return { ...enough, i, n, why };
    }
  }
  return undefined;
}

const lengthOf = (spans: readonly Span[]): number => spans.reduce((sum, { from, to }) => sum + to - from, 0);

/**
 * Why this instance asks for a tick again; `undefined` if it does not. After a start or an outage it does not run the very first
 * tick of a job, as the store may have forgotten others.
 */
function whyItAsks(model: Model, { facts, tick, calls, known }: Missed, life: Life): string | undefined {
  const due = dueAt(model, tick, life.i);
  if (life.up > due && life.up < due + facts.every) return known ? 'started meanwhile' : undefined;
  // The library fires a tick again by further calls.
  const ofLife = calls.filter((one) => one.i === life.i && one.n === life.n);
  const owed = ofLife.flatMap(({ refusals }) => refusals.filter(({ reason }) => OWING.has(reason)));
  const away = owed.find(({ reason }) => reason === 'store-unavailable');
  if (!known && away !== undefined) return undefined;
  return (away ?? owed[0])?.reason;
}
