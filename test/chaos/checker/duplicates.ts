import { describeRun, type Finding } from './finding.js';
import { groupBy, type Model, type Run } from './model.js';
import { dueAt } from './ticks.js';

/**
 * No tick is started twice, save counted reruns: attempts 2 to `rerun` + 1, or to those of `retry`, each once. Starts within `clocksApart`
 * of an injected data loss are counted apart, if it is one that forgot the first; and those that `catchUp` allows for as long as the tick
 * is young enough.
 */
export function checkDuplicates(model: Model): Finding {
  const { begin, runs, troubles } = model;
  const losses = troubles.filter(({ loses }) => loses);
  const isCaughtUp = ({ m, i, tick, facts }: Run): boolean =>
    tick !== undefined && m <= dueAt(model, tick, i) + facts.catchUp;
  const afterLoss = (run: Run, { m: started } = run): boolean =>
    losses.some(
      ({ from, to, since }) =>
        run.m >= from && (run.m <= to + begin.clocksApart || isCaughtUp(run)) && started >= since,
    );
  const violations: string[] = [];
  let reruns = 0;
  let forgotten = 0;
  const ticks = groupBy(
    runs.filter(({ tick }) => tick !== undefined),
    ({ job, tick }) => `${job} ${tick}`,
  );
  for (const starts of ticks.values()) {
    const seen = new Map<number, Run>();
    for (const run of starts) {
      const before = seen.get(run.attempt);
      seen.set(run.attempt, run);
      if (before === undefined && run.attempt <= mostAttempts(run)) {
        // One before it may be missing: its process died before its first line.
        if (run.attempt > 1) reruns += 1;
        continue;
      }
      if (afterLoss(run, before)) forgotten += 1;
      else if (before === undefined)
        violations.push(`${describeRun(run)}: only ${mostAttempts(run) - 1} reruns are allowed`);
      else violations.push(`${describeRun(run)}, although ${describeRun(before)}`);
    }
  }
  return {
    check: 'no tick started twice',
    violations,
    counts: {
      'ticks started': ticks.size,
      'runs of intervals': runs.length - [...ticks.values()].flat().length,
      reruns,
      'duplicates after a data loss': forgotten,
    },
  };
}

const mostAttempts = ({ facts: { rerun, retry } }: Run): number => Math.max(rerun + 1, retry?.attempts ?? 1);
