import type { QueuedLine } from '../history.js';
import { describeRun, type Finding } from './finding.js';
import { groupBy, type Model, READING, type Run } from './model.js';

/** A webhook that was queued, and the first run for its key that began after it came and went through. */
interface QueuedHook extends QueuedLine {
  readonly run: Run | undefined;
}

/**
 * No webhook that was queued is lost: for each there is a run of its key that began after it came, and went through, or it is still in the
 * queue, or a dead letter. None is delivered more often than it may be. Those that stand alone begin in the order in which they came.
 *
 * A store that loses data loses what was queued: those webhooks are not judged.
 */
export function checkQueuedCalls(model: Model): Finding {
  const { queues, over } = model;
  const runs = model.runs.filter(({ key }) => key !== undefined);
  const done = groupBy(
    runs.filter(({ endedAt }) => endedAt !== undefined),
    ({ key }) => key,
  );
  const calls = model.queued
    .filter(({ m }) => m <= over && !isForgotten(model, m))
    .map((line): QueuedHook => ({
      ...line,
      run: done.get(line.key)?.find((run) => run.m + READING >= line.since),
    }));
  const violations: string[] = [];
  for (const { since, m, queued, dead } of queues) {
    if (m > over || model.troubles.some(({ loses, to }) => loses && to >= since)) continue;
    // What had been queued by then, and never went through, has to be there.
    const open = new Set(calls.filter((one) => one.m < since && one.run === undefined).map(({ key }) => key));
    if (open.size <= queued + dead) continue;
    violations.push(
      `at ${m.toFixed(0)} ${open.size} keys (${[...open].slice(0, 5).join(', ')}) had been queued and never went through, but the store had ${queued} in its queue and ${dead} dead letters`,
    );
    break;
  }
  for (const run of runs) {
    const most = 1 + (run.facts.redeliver ?? 0);
    if ((run.delivery ?? 0) > most)
      violations.push(`delivery ${run.delivery} of ${describeRun(run)}, and ${most} are allowed`);
  }
  violations.push(...outOfOrder(calls, runs));
  const waits = calls
    .flatMap(({ m, run }) => (run === undefined ? [] : [Math.max(0, run.m - m)]))
    .sort((a, b) => a - b);
  return {
    check: 'what was queued is run, in order',
    violations,
    counts: {
      'webhooks that were queued': calls.length,
      'runs that were delivered again': runs.filter(({ delivery = 1 }) => delivery > 1).length,
      'time until the run began, median':
        waits.length === 0 ? '-' : `${waits[Math.floor(waits.length / 2)]?.toFixed(0)} ms`,
    },
  };
}

/** Whether the store has forgotten what was written at this time. */
function isForgotten({ troubles }: Model, m: number): boolean {
  return troubles.some(({ loses, to }) => loses && to >= m);
}

/** Runs of webhooks that stand alone, of which a later one began first. */
function outOfOrder(calls: readonly QueuedHook[], runs: readonly Run[]): string[] {
  const first = new Map<string | undefined, Run>();
  for (const run of runs) if (run.delivery === 1 && !first.has(run.key)) first.set(run.key, run);
  const alone = calls.filter(({ key }) => key.includes(' ')).sort((a, b) => a.m - b.m);
  const violations: string[] = [];
  // The earliest begin of those that came later.
  let next: { readonly one: QueuedHook; readonly run: Run } | undefined;
  for (const one of alone.toReversed()) {
    const run = first.get(one.key);
    if (run === undefined) continue;
    if (next !== undefined && one.m + READING < next.one.since && next.run.m + READING < run.m)
      violations.push(
        `${describeRun(run)} was queued at ${one.m.toFixed(0)}, and began after one that came at ${next.one.since.toFixed(0)}: ${describeRun(next.run)}`,
      );
    if (next === undefined || run.m < next.run.m) next = { one, run };
  }
  return violations;
}
