import type { BrokenLine, PausedLine } from '../history.js';
import { describeRun, type Finding } from './finding.js';
import { mayBeBroken, type Model, READING, type Run, troublesIn } from './model.js';

/** How much earlier than a pause was told it may have begun, ms: its answer came late, or the process was frozen. */
const LATE = 6_000;
/** Two clocks of one machine are read one after the other, ms. */
const ALLOWANCE = 1;

/**
 * No job runs under a lock from the moment on when somebody was told that it is paused, until somebody resumes it, or the pause is over. Nor
 * does a lease that somebody has ended come back: nothing confirms it for longer than what was confirmed before.
 *
 * Not judged is what comes after the store has lost data, or while its clock is set.
 */
export function checkSwitches(model: Model): Finding {
  const counts = { pauses: 0, 'broken leases': 0, 'not judged': 0 };
  const violations: string[] = [];
  for (const line of model.paused) {
    const to = endOf(model, line);
    if (isBlurred(model, line.m, to)) counts['not judged'] += 1;
    else {
      counts.pauses += 1;
      violations.push(...runsIn(model, line, to));
    }
  }
  for (const line of model.broken) {
    if (isBlurred(model, line.m - LATE, line.m + LATE)) counts['not judged'] += 1;
    else {
      counts['broken leases'] += 1;
      violations.push(...lifeAfter(model, line));
    }
  }
  return { check: 'switches are obeyed', violations, counts };
}

function endOf({ resuming, over }: Model, { m, lock, lasts }: PausedLine): number {
  const resumed = resuming.filter((line) => line.lock === lock && line.m >= m).map((line) => line.m);
  return Math.min(over, m + Math.max(0, lasts - LATE), ...resumed);
}

/** Whether a lock may have been paused at some moment between these. */
export const mayBePaused = (
  { paused, resuming }: Model,
  lock: string | undefined,
  { from, to }: { from: number; to: number },
): boolean =>
  paused.some((line) => {
    const resumed = resuming.find((one) => one.lock === lock && one.m >= line.m);
    const end = Math.min(line.m + line.lasts, (resumed?.m ?? Infinity) + LATE);
    return line.lock === lock && line.m - LATE <= to && end >= from;
  });

const isBlurred = ({ troubles, steps }: Model, from: number, to: number): boolean =>
  troubles.some((trouble) => trouble.loses && trouble.from <= to && trouble.to >= from - LATE) ||
  steps.some(({ m }) => m <= to && m >= from - LATE);

/** Runs under a lease that was asked for after somebody was told of the pause, before its end. */
function runsIn(model: Model, { m, lock, token }: PausedLine, to: number): string[] {
  return model.runs
    .filter(
      (run) =>
        run.lock === lock &&
        // A run that goes on goes on. What a lease promises ends a little sooner than a ttl after its ask.
        run.firstDeadline - run.facts.ttl > m + ALLOWANCE &&
        run.m < to - READING,
    )
    .map(
      (run) =>
        `${describeRun(run)} ran under ${lock}, which was paused from ${m.toFixed(0)} to ${to.toFixed(0)} (${token})`,
    );
}

/**
 * Until when a holder may rely on a lease that somebody has ended: until its next heartbeat is answered, or, if a fault hits that one too, for
 * a ttl at most. Whoever was killed when it ended the lease has told nobody. `-Infinity` if nobody has ended the lease.
 *
 * @param next when the next lease of the lock began: the end came before that
 */
export function unnoticed(model: Model, run: Run, next: number): number {
  const { lock, token, i, facts } = run;
  const told = model.broken.find((line) => line.lock === lock && line.token === token)?.m;
  const untold = mayBeBroken(model, run, next) ? next : -Infinity;
  const m = Math.min(told ?? untold, next);
  const noticed = m + facts.heartbeat + facts.storeTimeout + ALLOWANCE;
  const isHit = troublesIn(model, m - facts.ttl, noticed, i).some(
    ({ fault }) => !fault.startsWith('switch-'),
  );
  return isHit ? m + facts.ttl + ALLOWANCE : noticed;
}

function lifeAfter({ runs }: Model, { m, lock, token }: BrokenLine): string[] {
  return runs
    .filter((run) => run.lock === lock && run.token === token)
    .flatMap((run) => {
      // What was sent before that is confirmed for a ttl from then on.
      const late = run.confirmed.find(({ until }) => until > m + run.facts.ttl + ALLOWANCE);
      return late === undefined
        ? []
        : [
            `${describeRun(run)} was confirmed until ${late.until.toFixed(0)}, though its lease was ended at ${m.toFixed(0)}`,
          ];
    });
}
