import { describeRun, type Finding } from './finding.js';
import { type Model, READING, type Run, troublesIn } from './model.js';
import { dueAt } from './ticks.js';

/** How long after its time an attempt may begin, ms: the instance may be gone, then others ask when its lease would have ended, and a second later. */
const LATE = 1_500;

/**
 * A run that fails is tried again after its delay, not before, and only once; never past its next tick. Where something was wrong meanwhile
 * nobody has to try it again: such runs are counted apart.
 */
export function checkRetries(model: Model): Finding {
  const violations: string[] = [];
  const counts = { 'runs that failed': 0, 'tried again': 0, 'not judged': 0 };
  const failed = model.runs.filter(({ facts, outcome }) => facts.retry !== undefined && outcome === 'failed');
  for (const run of failed) {
    const { attempts = 1, delay = 0 } = run.facts.retry ?? {};
    const again = model.runs.find(
      ({ job, tick, attempt }) => job === run.job && tick === run.tick && attempt === run.attempt + 1,
    );
    const ended = run.endedAt ?? Infinity;
    counts['runs that failed'] += 1;
    if (again !== undefined) {
      counts['tried again'] += 1;
      if (again.m < ended + delay - READING && !isStepped(model, run.m, again.m))
        violations.push(
          `${describeRun(again)}: too early, ${(again.m - ended).toFixed(0)} ms after ${describeRun(run)}`,
        );
      if (again.m > nextTick(model, run))
        violations.push(`${describeRun(again)}: though the next tick had come`);
    } else if (run.attempt < attempts) {
      if (isExcused(model, run, ended + delay + LATE)) counts['not judged'] += 1;
      else violations.push(`${describeRun(run)} failed, and was not tried again`);
    }
  }
  return { check: 'failed runs are tried again', violations, counts };
}

/** When the tick after that of a run comes on the last of the instances. */
function nextTick(model: Model, { tick = 0, facts: { every } }: Run): number {
  return Math.max(...Object.keys(model.begin.offsets).map((i) => dueAt(model, tick + every, i)));
}

const isStepped = ({ steps }: Model, from: number, to: number): boolean =>
  steps.some(({ m }) => m >= from - READING && m <= to + READING);

/** Whether nobody had to try a run again. @param by when somebody should have */
function isExcused(model: Model, run: Run, by: number): boolean {
  const { tick = 0, facts, i, n, lock, m } = run;
  const first = Math.min(
    ...Object.keys(model.begin.offsets).map((each) => dueAt(model, tick + facts.every, each)),
  );
  const life = model.lives.find((one) => one.i === i && one.n === n);
  const isLeft = (life?.until ?? Infinity) < by;
  const isPaused = model.paused.some((line) => line.lock === lock && line.m <= by);
  return (
    run.releasedAt === undefined ||
    by >= Math.min(first, model.over) ||
    isLeft ||
    isPaused ||
    troublesIn(model, m, by).length > 0
  );
}
