import type { JobFacts } from '../history.js';
import type { Finding } from './finding.js';
import { blockerAt } from './blocker.js';
import { type Call, groupBy, type Model, READING, type Run, troublesIn } from './model.js';
import { mayBePaused } from './switches.js';
import { dueAt, dueTicks, tickOf } from './ticks.js';

/** How long after a fault calls may still fail: connections are made again, ms. */
const AFTERMATH = 3_000;
/** How late `cron` may fire a tick, ms: 250 is its own threshold. */
const LATE = 300;
/** A busy event loop for this long before makes `cron` skip a date, ms. */
const BUSY = 1_500;

/** Why one instance did not run a tick. `unexplained` is a bug, of the library or of the checker. */
export type Cause =
  | 'held'
  | "a dead holder's remaining lease"
  | 'cooling down'
  | 'paused'
  | 'overtaken by a newer tick'
  | 'outage of the store'
  | 'died or froze as it began'
  | 'shutting down'
  | 'clock of the store'
  | 'no instance up'
  | 'unexplained';

/** If instances have different reasons, the first of these is counted. */
const ORDER: readonly Cause[] = [
  'held',
  "a dead holder's remaining lease",
  'cooling down',
  'paused',
  'outage of the store',
  'died or froze as it began',
  'overtaken by a newer tick',
  'clock of the store',
  'shutting down',
  // Only if it is so for all of them: see below.
  'no instance up',
];

/**
 * Explains every tick that was not run, by what at least one instance did at its time. A claim of the library counts
 * only if the rest of the history confirms it: `held` needs a holder, an outage needs a fault.
 */
export function checkUnrun(model: Model): Finding {
  const { begin, runs, calls } = model;
  const started = new Set(runs.map(({ job, tick }) => `${job} ${tick}`));
  const byTick = groupBy(calls, ({ job, w }) => `${job} ${tickOf(model, job, w)}`);
  const isLate = ({ tick, m, i, attempt }: Run): boolean =>
    tick !== undefined && attempt === 1 && m - dueAt(model, tick, i) > 1_000;
  const counts = new Map<Cause, number>();
  const violations: string[] = [];
  let ticks = 0;
  for (const facts of model.jobs.values()) {
    for (const tick of dueTicks(model, facts)) {
      ticks += 1;
      if (started.has(`${facts.job} ${tick}`)) continue;
      const causes = Object.keys(begin.offsets).map((i) => {
        const own = byTick.get(`${facts.job} ${tick}`)?.filter((one) => one.i === i) ?? [];
        // Who is started behind a tick asks again and again until it knows.
        const call = own.at(isUpAt(model, tick, i) ? 0 : -1);
        return causeOf(model, facts, tick, i, call);
      });
      const up = causes.filter(({ cause }) => cause !== 'no instance up');
      const cause =
        up.length === 0 ? 'no instance up' : ORDER.find((one) => up.some((other) => other.cause === one));
      counts.set(cause ?? 'unexplained', (counts.get(cause ?? 'unexplained') ?? 0) + 1);
      if (cause === undefined) {
        const why = causes.map(({ detail }, index) => `instance-${index + 1}: ${detail}`).join('; ');
        violations.push(`nobody ran tick ${new Date(tick).toISOString()} of ${facts.job}: ${why}`);
      }
    }
  }
  const sorted = [...ORDER, 'unexplained' as const].flatMap((cause) => {
    const count = counts.get(cause);
    return count === undefined ? [] : [[cause, count] as const];
  });
  return {
    check: 'ticks not run are explained',
    violations,
    counts: {
      'ticks due': ticks,
      'run late by over a second': runs.filter(isLate).length,
      ...Object.fromEntries(sorted),
    },
  };
}

interface Judged {
  readonly cause: Cause;
  /** The observation, for people. */
  readonly detail: string;
}

function causeOf(model: Model, facts: JobFacts, tick: number, i: string, call: Call | undefined): Judged {
  if (call === undefined) return withoutCall(model, tick, i);
  const { skipped } = call;
  const wrong = (): boolean =>
    troublesIn(model, call.m - AFTERMATH, (skipped?.m ?? call.m) + LATE, i).length > 0;
  const because = (fits: boolean, cause: Cause): Judged => {
    const detail = skipped === undefined ? 'fired, and nothing came of it' : `skipped (${skipped.reason})`;
    return fits
      ? { cause, detail }
      : { cause: 'unexplained', detail: `${detail} without a reason to be seen` };
  };
  if (skipped === undefined)
    return because(wrong() || !isUp(model, i, call.m, call.m + LATE), 'died or froze as it began');
  switch (skipped.reason) {
    case 'paused':
      return because(wasPaused(model, facts, call), 'paused');
    case 'held':
    case 'cooling-down': {
      if (askedForOlder(model, call, skipped.m, tick)) return because(true, 'overtaken by a newer tick');
      const blocker = blockerAt(model, facts, call, skipped);
      if (blocker === undefined && wasPaused(model, facts, call)) return because(true, 'paused');
      return because(blocker !== undefined, blocker ?? 'held');
    }
    case 'already-ran': {
      const newest = skipped.tick ?? -Infinity;
      if (newest > tick)
        return because(wasAsked(model, facts.job, newest, skipped.m), 'overtaken by a newer tick');
      // The tick was granted to an instance that died before it could write a line, or that took the grant back
      // because the answer came too late.
      const others = model.calls.filter(({ job, w }) => job === facts.job && tickOf(model, job, w) === tick);
      const lost = others.some((other) => other.run === undefined && other.skipped?.reason !== 'already-ran');
      if (!lost && !isUpAt(model, tick, i) && !mayRunLate(model, facts, call))
        return { cause: 'no instance up', detail: 'was started behind it' };
      return because(lost, 'died or froze as it began');
    }
    case 'store-unavailable':
      return because(wrong(), 'outage of the store');
    case 'clock-skew':
      return because(isBehind(model, tick, skipped.m), 'clock of the store');
    case 'shutting-down':
      return because(!isUp(model, i, skipped.m, skipped.m), 'shutting down');
    default:
      return because(false, 'unexplained');
  }
}

/** Whether a person may have had the lock as the store judged the call. */
const wasPaused = (model: Model, { lock }: JobFacts, { m, skipped }: Call): boolean =>
  mayBePaused(model, lock, { from: m, to: skipped?.m ?? m });

/** The scheduler of this instance did not fire the tick: allowed only if the instance was not up, or was busy. */
function withoutCall(model: Model, tick: number, i: string): Judged {
  const due = dueAt(model, tick, i);
  const busy = troublesIn(model, due - BUSY, due + LATE, i).some(
    ({ fault }) => fault === 'pause' || fault === 'busy machine' || fault === 'kill',
  );
  if (busy || !isUp(model, i, due - BUSY, due + LATE))
    return { cause: 'no instance up', detail: 'was not up' };
  return { cause: 'unexplained', detail: 'was up and did nothing' };
}

/** Whether the instance was up when its clock came to the tick. */
function isUpAt(model: Model, tick: number, i: string): boolean {
  const due = dueAt(model, tick, i);
  return isUp(model, i, due, due);
}

/** Whether who is started behind a tick runs it: if its job is to catch up with ticks, and has been run before. */
function mayRunLate({ runs }: Model, { job, catchUp }: JobFacts, { m }: Call): boolean {
  return catchUp > 0 && runs.some((run) => run.job === job && run.m < m);
}

function isUp({ lives }: Model, i: string, from: number, to: number): boolean {
  return lives.some((life) => life.i === i && life.up <= from && life.until >= to);
}

/** Whether the tick lay too far in the future of the store's clock, which had been set back. */
function isBehind({ begin, steps }: Model, tick: number, m: number): boolean {
  const ahead = steps.filter((step) => step.m <= m + READING).reduce((sum, { by }) => sum + by, 0);
  return ahead < 0 && tick > m + (begin.w - begin.m) + ahead + begin.maxClockSkew - LATE;
}

/**
 * Whether the instance still asked for an older tick of the job, so that it did not ask for this one, and a newer one had been started: then the
 * store would have refused this one, too.
 */
function askedForOlder({ calls, runs }: Model, own: Call, refused: number, tick: number): boolean {
  const { job, i, n, m, call } = own;
  const asks = calls.some(
    (other) =>
      other.job === job &&
      other.i === i &&
      other.n === n &&
      other.call !== call &&
      other.m <= m &&
      (other.skipped?.m ?? -Infinity) >= refused,
  );
  return asks && runs.some((run) => run.job === job && (run.tick ?? -Infinity) > tick && run.m <= refused);
}

/** Whether any instance asked for this tick before. */
function wasAsked(model: Model, job: string, tick: number, before: number): boolean {
  return model.calls.some(
    (call) => call.job === job && tickOf(model, job, call.w) === tick && call.m <= before,
  );
}
