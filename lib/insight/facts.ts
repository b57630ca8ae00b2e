import type { KnownJob, MissEntry } from '../contract/history-store.js';
import type { JobInfo, LockInfo } from '../contract/lock-info.js';
import type { InstanceInfo, PauseInfo, RunInfo } from './types.js';

/* What is known of one job at one time. Its status, and why, follow from this alone: see judgement.ts. */

/** The dates of one cron expression, epoch milliseconds. */
export interface TickDates {
  /** The newest date not after `at`; `undefined` if there is none. */
  newest(at: number): number | undefined;
  /** The first date after `at`, or Infinity. */
  next(at: number): number;
}

/**
 * Finds the dates of a cron expression in a zone, by the package `cron`. Without a finder no dates are known.
 *
 * @returns `undefined` for an expression that `cron` cannot read
 */
export type TickFinder = (schedule: string, timeZone: string | undefined) => TickDates | undefined;

/** An instance that knows the job. */
export interface KnownBy extends Pick<InstanceInfo, 'instance' | 'state' | 'seenAt'> {
  /** Since when it knows the job: by the store's clock, if the instance knows by how much its own clock is off. */
  readonly startedAt: number;
  readonly kept?: InstanceInfo['kept'] | undefined;
  readonly clockOffset?: number | undefined;
  /** The runs of the job that hang there. */
  readonly hung?: InstanceInfo['hung'] | undefined;
  /** The job, as this instance knows it. */
  readonly job: KnownJob;
  /** Until when its cron job was stopped there, as far as this is known: ticks that came before that were no business of this instance. */
  readonly stoppedUntil?: number | undefined;
}

/** What is known of one job. Times are the store's, epoch milliseconds. */
export interface JobFacts {
  /** The job, as the newest instance that is up knows it. If none is up: the one that was seen last. */
  readonly known: KnownJob;
  /** Now. */
  readonly time: number;
  /** When the store answered this. Absent: it has not yet. */
  readonly asOf?: number;
  /** What this instance has seen by itself since then. */
  readonly seen?: OwnFacts;
  /** Until when it was off everywhere, as far as this instance has seen: nobody had to start a tick that came before that. */
  readonly offUntil?: number;
  /** The instances that know it, the newest first, those that are not up any more included. */
  readonly knownBy: readonly KnownBy[];
  /** Its lock. Absent if the store does not know it, or its name is made from arguments. */
  readonly lock?: LockInfo;
  /** The runs of the job, newest first, with those that go on or were interrupted. */
  readonly runs: readonly RunInfo[];
  /** The runs of anything else under its lock, newest first. */
  readonly others: readonly RunInfo[];
  /** The pauses of its lock, newest first. */
  readonly pauses?: readonly PauseInfo[];
  /** The missed ticks of the job, newest first: one entry for each instance that noted the miss. */
  readonly misses: readonly MissEntry[];
  /** The entry of a person who had it forgotten, if no instance has guarded it since. */
  readonly forgotten?: RunInfo;
  /** Why the store does not show its lock or its runs: then there is no `asOf`, unless an instance has asked before. */
  readonly refusal?: string;
  /** Since when all runs under its lock are kept, if older ones were dropped. */
  readonly since?: number;
  readonly ticks?: TickFinder;
  /** Shows a time in sentences. @default in UTC */
  readonly show?: (time: number) => string;
}

/** What an instance sees without asking the store: by its own runs, and by the refusals of its calls. */
export interface OwnFacts {
  /** The newest tick that was started. */
  readonly tick: number;
  /** When an interval is due again. */
  readonly due?: number;
  /** How the run of that tick has ended, if it was here. */
  readonly outcome?: RunInfo['outcome'];
}

/** How long after its tick a start may come, milliseconds: some time passes also if the job is never overdue. */
export const graceOf = ({ overdue }: KnownJob): number => (overdue === false ? 60_000 : overdue);

/** Whether an instance was up at a time, for certain: after it was last seen, it may have died at any moment. */
export const wasUp = ({ startedAt, seenAt, state }: KnownBy, at: number): boolean =>
  startedAt <= at && (state === 'up' || seenAt >= at);

export const upAt = ({ knownBy }: JobFacts, at: number): readonly KnownBy[] =>
  knownBy.filter((by) => wasUp(by, at));

/** Whether the scheduler of an instance may start the job. */
export const isOn = ({ enabled, stopped }: KnownJob): boolean => enabled && stopped !== true;

/** The instances that are up and on which the job may run. */
export const upAndOn = ({ knownBy }: Pick<JobFacts, 'knownBy'>): readonly KnownBy[] =>
  knownBy.filter(({ state, job }) => state === 'up' && isOn(job));

const wasStopped = ({ job, stoppedUntil = -Infinity }: KnownBy, tick: number): boolean =>
  job.stopped === true || stoppedUntil >= tick;

/**
 * The instances that show whether a job is on. If it is stopped on one that is up, or was at a tick, these are the others that are up,
 * and the younger ones that died: a deploy has replaced any other, and all on which the job was on before.
 */
export function unlessStopped(knownBy: readonly KnownBy[], tick = Infinity): readonly KnownBy[] {
  const stopped = knownBy.filter((by) => by.state === 'up' && by.startedAt <= tick && wasStopped(by, tick));
  if (stopped.length === 0) return knownBy;
  const youngest = Math.max(...stopped.map(({ startedAt }) => startedAt));
  return knownBy.filter(
    ({ state, startedAt }) => state === 'up' || (state === 'gone' && startedAt > youngest),
  );
}

/** Whether two instances agree on when a job runs. */
export const agree = (one: KnownJob, other: KnownJob): boolean =>
  one.schedule === other.schedule && one.timeZone === other.timeZone && one.interval === other.interval;

/** What the lock remembers of the last start of the job. */
export const lastStartOf = ({ known, lock }: Pick<JobFacts, 'known' | 'lock'>): JobInfo | undefined =>
  lock?.jobs.find(({ job }) => job === known.job);

/** The reason that an instance notes for a tick that it has run without its lock, as the store did not answer. */
export const UNLOCKED = 'unlocked';

/** Whether the store, or an instance that has done without it, says that this tick, or a newer one, was started. */
export function wasStarted(facts: JobFacts, tick: number): boolean {
  const last = Math.max(lastStartOf(facts)?.tick ?? -Infinity, facts.seen?.tick ?? -Infinity);
  const isUnlocked = facts.misses.some((miss) => miss.reason === UNLOCKED && miss.tick >= tick);
  return isUnlocked || last >= tick || facts.runs.some((run) => (run.tick ?? -Infinity) >= tick);
}

/**
 * Whether the job was there before a tick: an instance, which may be gone, knew this schedule and this lock then. If none is remembered from that
 * time (one that restarts under the same id is not), the last start of the job decides, if it was for a date of this schedule.
 */
export function wasExpected(facts: JobFacts, tick: number): boolean {
  const { known, knownBy } = facts;
  const there = unlessStopped(knownBy, tick).filter(({ startedAt }) => startedAt <= tick);
  const then = there.filter((by) => isOn(by.job) && !wasStopped(by, tick));
  if (then.length === 0) return !there.some((by) => wasStopped(by, tick)) && wasStartedBefore(facts, tick);
  return then.some(({ job }) => agree(job, known) && job.lock === known.lock);
}

/** Whether the last start of the job was for a date of this schedule, before a tick. */
function wasStartedBefore(facts: JobFacts, tick: number): boolean {
  const { known, knownBy, ticks } = facts;
  const { tick: last, due } = lastStartOf(facts) ?? {};
  if (known.kind === 'interval') return due !== undefined;
  const isKnown = knownBy.some(({ job }) => isOn(job) && agree(job, known));
  if (last === undefined || known.schedule === undefined || !isKnown) return false;
  return last < tick && ticks?.(known.schedule, known.timeZone)?.newest(last) === last;
}

/**
 * Whether a run went on at a time, for certain: nobody knows when an interrupted run ended. After an outage, the store may learn of an end
 * long after it: then the holder's clock counts.
 */
export const wentOn = (run: RunInfo, at: number): boolean => run.startedAt <= at && endOf(run) > at;

/** Whether a run that somebody began by hand after a tick has completed: it settles a tick that nobody started. */
export const makesUpFor = ({ tick: own, startedAt, outcome }: RunInfo, tick: number): boolean =>
  own === undefined && startedAt > tick && outcome === 'completed';

/** When a run ended: Infinity if it goes on, and -Infinity if nobody knows. */
export const endOf = ({ startedAt, endedAt = -Infinity, duration = Infinity, outcome }: RunInfo): number =>
  outcome === 'running' ? Infinity : Math.min(endedAt, startedAt + duration);

/** Whether the run did not end by itself: it was interrupted or aborted. */
export const wasInterrupted = ({ outcome }: Partial<Pick<RunInfo, 'outcome'>>): boolean =>
  outcome === 'interrupted' || outcome === 'aborted';

/** Whether somebody may want to look at the run. */
export const isBad = (run: RunInfo): boolean =>
  hasFailed(run) || wasInterrupted(run) || run.outcome === 'hollow';

/** Whether the run itself went wrong. */
export const hasFailed = ({ outcome }: Partial<Pick<RunInfo, 'outcome'>>): boolean =>
  outcome === 'failed' || outcome === 'timed-out';
