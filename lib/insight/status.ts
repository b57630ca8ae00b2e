import { datesOf, dueOf, tickAfter } from './dates.js';
import {
  given,
  hasFailed,
  type JobFacts,
  lastStartOf,
  scheduleKey,
  wasInterrupted,
  wasStarted,
  wentOn,
} from './facts.js';
import type { JobStatus, RunInfo } from './types.js';

/** How a job is, and what says so. */
export interface StatusFacts {
  readonly status: JobStatus;
  /** Whether a person should look at it. */
  readonly attention: boolean;
  /** The run that it is about: that goes on, was interrupted, or failed. */
  readonly run?: RunInfo;
  /** The tick that it is about: that has passed during the run, or is overdue. */
  readonly tick?: number;
}

/** How a job is: the first status that applies, in the order of {@link JobStatus}. */
export function statusOf(facts: JobFacts): StatusFacts {
  const running = facts.runs.find(({ outcome }) => outcome === 'running');
  if (running !== undefined) return statusOfRunning(facts, running);
  const [last] = facts.runs;
  if (last !== undefined && wasInterrupted(last))
    return { status: 'interrupted', attention: true, run: last };
  const tick = overdueTick(facts);
  if (tick !== undefined) return { status: 'overdue', attention: true, tick };
  // The lock knows how the last tick ended even if no run is kept.
  const end = last ?? lastStartOf(facts);
  if (end !== undefined && hasFailed(end))
    return { status: 'failing', attention: true, ...given({ run: last }) };
  if (isOff(facts)) return { status: 'off', attention: false };
  return { status: end !== undefined && hasDates(facts) ? 'ok' : 'new', attention: false };
}

/** How many runs in a row have failed, up to now. */
export function failuresOf({ runs }: JobFacts): number {
  const ended = runs.filter((run) => run.outcome !== 'running' && !wasInterrupted(run));
  const success = ended.findIndex((run) => !hasFailed(run));
  return success === -1 ? ended.length : success;
}

function statusOfRunning(facts: JobFacts, run: RunInfo): StatusFacts {
  const { known, time } = facts;
  const tick = tickAfter(facts, run);
  if (tick > time) return { status: 'running', attention: false, run };
  return {
    status: 'overrun',
    attention: known.overdue !== false && tick <= time - known.overdue,
    run,
    tick,
  };
}

/**
 * The newest tick that somebody should have started by now, and nobody has. A tick that came while the job was running is none, and
 * neither is one that no instance has expected: it may be older than the schedule.
 */
function overdueTick(facts: JobFacts): number | undefined {
  const { known, time, runs } = facts;
  // Nobody knows the runs of a job whose lock is made from arguments.
  if (known.overdue === false || known.lock === undefined || known.kind === 'hand') return undefined;
  const latest = time - known.overdue;
  const tick = known.kind === 'cron' ? datesOf(facts).newest(latest) : dueOf(facts);
  if (tick === undefined || tick > latest) return undefined;
  const isStarted = known.kind === 'cron' && wasStarted(facts, tick);
  return isStarted || runs.some((run) => wentOn(run, tick)) || !wasExpected(facts, tick) ? undefined : tick;
}

/** Whether an instance on which the job may run knew its schedule before this tick. It may be gone by now. */
function wasExpected({ known, knownBy }: JobFacts, tick: number): boolean {
  return knownBy.some(({ job, startedAt }) => {
    if (!job.enabled || startedAt > tick || scheduleKey(job) !== scheduleKey(known)) return false;
    if (known.kind === 'interval' || (job.last === undefined && job.next === undefined)) return true;
    // A job that was made at run time may be younger than its instance, and than this tick.
    return (job.last ?? -Infinity) >= tick || (job.next ?? Infinity) <= tick;
  });
}

/** Whether the job may run nowhere: on none of the instances that are up, or else on none that knew it. */
export function isOff({ knownBy }: JobFacts): boolean {
  const up = knownBy.filter(({ state }) => state === 'up');
  return (up.length > 0 ? up : knownBy).every(({ job }) => !job.enabled);
}

/** Whether it is known when the job has to run; a job that is started by hand has to at no time. */
function hasDates(facts: JobFacts): boolean {
  const { kind } = facts.known;
  if (kind === 'hand') return true;
  if (kind === 'interval') return dueOf(facts) !== undefined;
  const dates = datesOf(facts);
  return dates.newest(facts.time) !== undefined || dates.next(facts.time) !== Infinity;
}
