import { describeRun, type Finding } from './finding.js';
import { type Model, type Run, troublesIn } from './model.js';

/** How long after a fault its consequences may still come: connections are made again, ms. */
const AFTERMATH = 2_000;

/** What is over in a moment, or was done to an earlier life, and must not cost a lease. */
const NO_EXCUSE: ReadonlySet<string> = new Set(['forget-scripts', 'cut', 'kill']);

/**
 * Every lease that was lost under its job is explained by a fault in its last ttl: of its instance, of the store, or
 * of the machine. A lease that is lost on a quiet day was not renewed.
 */
export function checkLosses(model: Model): Finding {
  const causes = new Map<string, number>();
  const violations: string[] = [];
  for (const run of model.runs) {
    if (run.lostAt === undefined || run.lostAt > model.over) continue;
    const cause = causeOf(model, run, run.lostAt);
    if (cause === undefined)
      violations.push(`${describeRun(run)} lost its lease (${run.lostReason}), and nothing was wrong`);
    else causes.set(cause, (causes.get(cause) ?? 0) + 1);
  }
  return { check: 'losses are explained', violations, counts: Object.fromEntries([...causes].sort()) };
}

function causeOf(model: Model, run: Run, lostAt: number): string | undefined {
  const since = lostAt - run.facts.ttl - AFTERMATH;
  const troubles = troublesIn(model, since, lostAt, run.i).filter(({ fault }) => !NO_EXCUSE.has(fault));
  const shutdown = model.lives.find(({ i, n }) => i === run.i && n === run.n);
  if (shutdown !== undefined && shutdown.until <= lostAt) return 'shutdown';
  return (troubles.find(({ injected }) => injected) ?? troubles[0])?.fault;
}
