import { describeRun, type Finding } from './finding.js';
import { askedAt, mayBeBroken, type Model, READING, type Run, troublesIn, wasBroken } from './model.js';
import { UNKNOWN } from './spans.js';

/** How long after a fault its consequences may still come: connections are made again, ms. */
const AFTERMATH = 2_000;

/** Faults that are over in a moment, or hit an earlier life, and must not cost a lease. */
const NO_EXCUSE: ReadonlySet<string> = new Set(['forget-scripts', 'cut', 'kill']);

/**
 * Every lease that was lost under its job is explained by a fault in its last ttl: of its instance, of the store, or
 * of the machine. A lease that is lost on a quiet day was not renewed.
 *
 * If a lease was lost because the store said so, another holder took it: a lease that the store forgot, and no one
 * took, is restored.
 */
export function checkLosses(model: Model): Finding {
  const causes = new Map<string, number>();
  const violations: string[] = [];
  for (const run of model.runs) {
    if (run.lostAt === undefined || run.lostAt > model.over) continue;
    const cause = causeOf(model, run, run.lostAt);
    const isBroken = wasBroken(model, run) || mayBeBroken(model, run, run.lostAt);
    if (
      run.lostReason !== 'deadline' &&
      !isBroken &&
      cause !== 'store-clock' &&
      !wasTaken(model, run, run.lostAt)
    )
      violations.push(`${describeRun(run)} lost its lease (${run.lostReason}), and nobody had taken it`);
    else if (cause === undefined)
      violations.push(`${describeRun(run)} lost its lease (${run.lostReason}), and nothing was wrong`);
    else causes.set(cause, (causes.get(cause) ?? 0) + 1);
  }
  return { check: 'losses are explained', violations, counts: Object.fromEntries([...causes].sort()) };
}

function causeOf(model: Model, run: Run, lostAt: number): string | undefined {
  const since = lostAt - run.facts.ttl - AFTERMATH;
  // The clock of the store was set forward, and ended the lease.
  const early = model.steps.some(({ m, by }) => by > 0 && m >= since && m <= lostAt + READING);
  if (early && run.lostReason !== 'deadline') return 'store-clock';
  const troubles = troublesIn(model, since, lostAt, run.i).filter(({ fault }) => !NO_EXCUSE.has(fault));
  const shutdown = model.lives.find(({ i, n }) => i === run.i && n === run.n);
  if (shutdown !== undefined && shutdown.until <= lostAt) return 'shutdown';
  return (troubles.find(({ injected }) => injected) ?? troubles[0])?.fault;
}

function wasTaken(model: Model, run: Run, lostAt: number): boolean {
  const { runs, calls, refusals, troubles, jobs } = model;
  const { lock, token, m: began, facts } = run;
  const others = runs.filter((other) => other.lock === lock && other.token !== token);
  if (others.some((other) => other.token > token && askedAt(model, other) <= lostAt + READING)) return true;
  const ofLock = (line: { job: string; m: number }): boolean =>
    jobs.get(line.job)?.lock === lock && line.m >= began - facts.ttl && line.m <= lostAt + facts.storeTimeout;
  if (refusals.some((line) => UNKNOWN.has(line.reason) && ofLock(line))) return true;
  if (calls.some((call) => call.run === undefined && call.skipped === undefined && ofLock(call))) return true;
  // A released lease came back with an old snapshot.
  return troubles.some(
    ({ loses, since, from, to }) =>
      loses &&
      to >= began &&
      from <= lostAt &&
      others.some(
        (other) =>
          other.m <= since + READING &&
          (other.releasedAt ?? Infinity) >= since - READING &&
          other.deadline >= from,
      ),
  );
}
