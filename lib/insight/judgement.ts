import { pauseNow } from './controls.js';
import { datesOf, dueOf, excusedUntil, lateness, ripeTick, tickAfter } from './dates.js';
import { given } from '../base/shared.js';
import {
  agree,
  graceOf,
  hasFailed,
  isOn,
  type JobFacts,
  type KnownBy,
  lastStartOf,
  unlessStopped,
  upAndOn,
  wasExpected,
  wasInterrupted,
  wasStarted,
} from './facts.js';
import type { JobStatus, PauseInfo, RunInfo, UnknownReason } from './types.js';

/*
 * Is this job all right? There is one answer, and it follows from what is known of the job alone. `status`, `why`, the events `overdue`
 * and `hung`, health and metrics are its readers. Their facts are more or less fresh and complete; they have no rule of their own.
 * What is newest goes first. What is not known is `unknown`, with its reason, and never `ok`.
 */

/** The state of a job, and what it rests on. */
export interface Judgement {
  readonly status: JobStatus;
  /** Whether a person should look at it. */
  readonly attention: boolean;
  /** The run in question: it goes on, was interrupted, or failed. */
  readonly run?: RunInfo;
  /** The tick in question: it has passed during the run, is overdue, or nothing is known of it. */
  readonly tick?: number;
  /** For `unknown`. */
  readonly reason?: UnknownReason;
  /** For `paused`. */
  readonly pause?: PauseInfo;
  /** Whether the instances disagree about when it runs, or all are late, whatever the status. Absent: the instances are not known. */
  readonly disagree?: boolean;
}

type Step = (facts: JobFacts) => Judgement | undefined;

/** From top to bottom: the first step that has an answer decides. */
const STEPS: readonly Step[] = [
  aRunGoesOn,
  nobodyHasAnswered,
  itIsSwitchedOff,
  aPersonHasPausedIt,
  aTickWasMissed,
  theLastRunWentWrong,
  theInstancesDisagree,
  theStoreRefuses,
  theStoreKeepsNoRuns,
  nobodyIsUpToRunIt,
  itHasNeverRun,
  noDateIsKnown,
];

export function judge(facts: JobFacts): Judgement {
  const disagree = facts.asOf === undefined ? {} : { disagree: doDisagree(facts) };
  for (const step of STEPS) {
    const judgement = step(facts);
    if (judgement !== undefined) return { ...judgement, ...disagree };
  }
  return { status: 'ok', attention: false, ...disagree };
}

function aRunGoesOn(facts: JobFacts): Judgement | undefined {
  const { runs, known, time } = facts;
  const going = runs.filter(({ outcome }) => outcome === 'running');
  const run = going.find(({ hung }) => hung) ?? going[0];
  if (run === undefined) return undefined;
  if (run.hung) return { status: 'hung', attention: true, run };
  const tick = tickAfter(facts, run);
  if (tick > time) return { status: 'running', attention: false, run };
  const attention = known.overdue !== false && tick <= time - known.overdue;
  return { status: 'overrun', attention, run, tick };
}

/** An instance that has just started knows nothing of the others: the job may be on there. Or the store refuses to show the lock. */
function nobodyHasAnswered(facts: JobFacts): Judgement | undefined {
  if (facts.asOf !== undefined) return undefined;
  return theStoreRefuses(facts) ?? { status: 'unknown', attention: false, reason: 'not-asked' };
}

function itIsSwitchedOff(facts: JobFacts): Judgement | undefined {
  return isOff(facts) ? { status: 'off', attention: false } : undefined;
}

/** Somebody knows why it does not run. */
function aPersonHasPausedIt({ lock, time }: JobFacts): Judgement | undefined {
  const pause = pauseNow(lock);
  return pause === undefined || pause.until <= time
    ? undefined
    : { status: 'paused', attention: false, pause };
}

/** The newest tick that an instance should have started by now, and none has. */
function aTickWasMissed(facts: JobFacts): Judgement | undefined {
  const tick = ripeTick(facts);
  if (tick === undefined || wasStarted(facts, tick) || !wasExpected(facts, tick)) return undefined;
  if (isExcused(facts, tick)) return undefined;
  // An answer of the store from before the end of the grace says nothing about a start within it.
  const isOld = (facts.asOf ?? -Infinity) < tick + (facts.known.overdue || 0);
  return isOld
    ? { status: 'unknown', attention: false, tick, reason: 'old-facts' }
    : { status: 'overdue', attention: true, tick };
}

/** Whether nobody had to start a tick. */
export const isExcused = (facts: JobFacts, tick: number): boolean => excusedUntil(facts, tick) !== undefined;

function theLastRunWentWrong(facts: JobFacts): Judgement | undefined {
  const [run] = facts.runs;
  const end = lastEndOf(facts);
  if (end === undefined) return undefined;
  const about = { attention: true, ...(end === run && { run }) };
  if (wasInterrupted(end)) return { status: 'interrupted', ...about };
  if (end.outcome === 'hollow') return { status: 'hollow', ...about };
  return hasFailed(end) && !isTriedAgain(facts, end) ? { status: 'failing', ...about } : undefined;
}

/** Whether the newest run has failed, and there is time left for somebody to try its tick again. */
function isTriedAgain(facts: JobFacts, end: End): boolean {
  const { tick = NaN, retryAt = -Infinity } = lastStartOf(facts) ?? {};
  const isNewest = tick >= (facts.seen?.tick ?? -Infinity) && (!('startedAt' in end) || end.tick === tick);
  return isNewest && facts.time <= retryAt + graceOf(facts.known);
}

function theInstancesDisagree(facts: JobFacts): Judgement | undefined {
  return doDisagree(facts) ? { status: 'disagree', attention: true } : undefined;
}

/** Compares schedules and clocks, not runs: so it shows before the first double run. */
function doDisagree(facts: JobFacts): boolean {
  const [first, ...others] = upAndOn(facts);
  const differ = first !== undefined && others.some(({ job }) => !agree(job, first.job));
  const isLate = lateness(facts) > (facts.known.overdue || Infinity);
  return differ || isLate;
}

/** The lock may show how its last run ended, but not whether there was another one. */
function theStoreRefuses({ refusal }: JobFacts): Judgement | undefined {
  return refusal === undefined ? undefined : { status: 'unknown', attention: true, reason: 'refused' };
}

function theStoreKeepsNoRuns({ known }: JobFacts): Judgement | undefined {
  return known.lock === undefined ? { status: 'unknown', attention: false, reason: 'no-lock' } : undefined;
}

/** Nobody would notice that it does not run: it is never overdue. */
function nobodyIsUpToRunIt(facts: JobFacts): Judgement | undefined {
  const { overdue, kind } = facts.known;
  if (overdue !== false || kind === 'hand' || upAndOn(facts).length > 0) return undefined;
  return { status: 'unknown', attention: false, reason: 'nobody-up' };
}

function itHasNeverRun(facts: JobFacts): Judgement | undefined {
  if (lastEndOf(facts) !== undefined || !hasDates(facts)) return undefined;
  return { status: 'new', attention: false };
}

function noDateIsKnown(facts: JobFacts): Judgement | undefined {
  return hasDates(facts) ? undefined : { status: 'unknown', attention: false, reason: 'no-dates' };
}

/** How the newest start ended, as far as is known. The lock knows the end of a tick even if no run is kept. */
function lastEndOf({ runs: [run], seen, ...facts }: JobFacts): End | undefined {
  const start = lastStartOf(facts);
  let newest: End | undefined = run;
  let last = run?.tick ?? run?.startedAt ?? -Infinity;
  for (const end of [start, seen])
    if (end?.tick !== undefined && end.tick > last)
      [last, newest] = [end.tick, given({ outcome: end.outcome })];
  return newest ?? (start && given({ outcome: start.outcome }));
}

type End = RunInfo | { readonly outcome?: RunInfo['outcome'] };

/**
 * Whether the job may run nowhere. An instance that was shut down does not count: a deploy has replaced it, and all on which the job was
 * switched on before. One that is gone counts: it may have died as the only one on which the job was switched on.
 */
export function isOff({ knownBy }: JobFacts): boolean {
  const last = knownBy.find(({ state, job }) => state !== 'up' && isOn(job));
  const isReplaced = ({ state, job }: KnownBy): boolean =>
    state === 'left' || (state === 'gone' && isOn(job) && last?.state === 'left');
  const there = unlessStopped(knownBy).filter((by) => !isReplaced(by));
  return (there.length > 0 ? there : knownBy).every(({ job }) => !isOn(job));
}

/** Whether it is known when the job has to run; a job that is started by hand never has to. */
function hasDates(facts: JobFacts): boolean {
  const { kind } = facts.known;
  if (kind === 'hand') return true;
  if (kind === 'interval') return dueOf(facts) !== undefined;
  const dates = datesOf(facts);
  return dates.newest(facts.time) !== undefined || dates.next(facts.time) !== Infinity;
}

/** How many runs in a row have failed, up to now. */
export function failuresOf({ runs }: JobFacts): number {
  const ended = runs.filter((run) => run.outcome !== 'running' && !wasInterrupted(run));
  const success = ended.findIndex((run) => !hasFailed(run));
  return success === -1 ? ended.length : success;
}
