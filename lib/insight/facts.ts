import type { KnownJob, MissEntry } from '../stores/history-store.js';
import type { JobInfo, LockInfo } from '../stores/lock-store.js';
import type { InstanceInfo, RunInfo } from './types.js';

/*
 * What is known of one job at one time. How it is, and why, follow from this alone: the page, the shell, the health check and the
 * metrics cannot disagree.
 */

/** The dates of one cron expression, epoch milliseconds. */
export interface TickDates {
  /** The newest date not after `at`; `undefined` if there is none. */
  newest(at: number): number | undefined;
  /** The first date after `at`, or Infinity. */
  next(at: number): number;
}

/**
 * Finds the dates of a cron expression in a zone, by the package `cron`. Without one, only those dates are known that
 * are on record. Insight asks for the same schedules again and again, so it should keep what it has found.
 *
 * @returns `undefined` for an expression that it cannot read
 */
export type TickFinder = (schedule: string, timeZone: string | undefined) => TickDates | undefined;

/** An instance that knows the job. */
export interface KnownBy extends Pick<InstanceInfo, 'instance' | 'state' | 'startedAt' | 'seenAt'> {
  /** The job, as this instance knows it. */
  readonly job: InstanceInfo['jobs'][number];
}

/** What is known of one job. Times are the store's, epoch milliseconds. */
export interface JobFacts {
  /** The job, as the newest instance that is up knows it. If none is up: the one that was seen last. */
  readonly known: KnownJob;
  /** The store's time. */
  readonly time: number;
  /** The instances that know it, the newest first, those that are not up any more included. */
  readonly knownBy: readonly KnownBy[];
  /** Its lock. Absent if the store does not know it, or its name is made from arguments. */
  readonly lock?: LockInfo;
  /** The runs of the job, newest first: those that go on and that were interrupted, too. */
  readonly runs: readonly RunInfo[];
  /** The runs of anything else under its lock, newest first. */
  readonly others: readonly RunInfo[];
  /** The missed ticks of the job, newest first: one entry for each instance that noted the miss. */
  readonly misses: readonly MissEntry[];
  /** Since when the runs under its lock are kept. Absent if none is. */
  readonly since?: number;
  readonly ticks?: TickFinder;
  /** Shows a time in sentences. @default in UTC */
  readonly show?: (time: number) => string;
}

/** For how long a tick may be late if its job is never overdue, ms: some time passes between a tick and its start. */
const GRACE = 60_000;

/** How long after its tick a start may come, milliseconds. */
export const graceOf = ({ overdue }: KnownJob): number => (overdue === false ? GRACE : overdue);

/** Whether an instance was up at a time. It may have died some time after it was seen last: then nobody knows. */
export const wasUp = ({ startedAt, seenAt, state }: KnownBy, at: number): boolean =>
  startedAt <= at && (state === 'up' || seenAt >= at);

/** What two instances that agree on when a job runs have in common. */
export const scheduleKey = ({ schedule, timeZone, interval }: KnownJob): string =>
  JSON.stringify([schedule, timeZone, interval]);

/** What the lock remembers of the last start of the job. */
export const lastStartOf = ({ known, lock }: JobFacts): JobInfo | undefined =>
  lock?.jobs.find(({ job }) => job === known.job);

/** Whether the store says that this tick, or a newer one, was started. */
export function wasStarted(facts: JobFacts, tick: number): boolean {
  const last = lastStartOf(facts)?.tick ?? -Infinity;
  return last >= tick || facts.runs.some((run) => (run.tick ?? -Infinity) >= tick);
}

/**
 * Whether a run went on at a time, for certain: of one that was interrupted nobody knows when it ended. The store may have been told of
 * an end long after it, when an outage was over: then the holder's clock counts.
 */
export function wentOn(
  { startedAt, endedAt = -Infinity, duration = Infinity, outcome }: RunInfo,
  at: number,
): boolean {
  return startedAt <= at && (outcome === 'running' || Math.min(endedAt, startedAt + duration) > at);
}

/** Whether nobody let the run end by itself. */
export const wasInterrupted = ({ outcome }: RunInfo): boolean =>
  outcome === 'interrupted' || outcome === 'aborted';

/** Whether the run itself went wrong. */
export const hasFailed = ({ outcome }: Pick<JobInfo | RunInfo, 'outcome'>): boolean =>
  outcome === 'failed' || outcome === 'timed-out';

/** The fields that have a value: an answer has no others. */
export const given = <T extends object>(fields: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
