import type { KnownJob } from '../stores/history-store.js';
import { type JobFacts, lastStartOf, scheduleKey, type TickDates } from './facts.js';
import type { RunInfo } from './types.js';

/** The dates of a job, as far as they are known. */
export interface JobDates extends TickDates {
  /** Whether these are all its dates: then any other time is none. */
  readonly complete: boolean;
}

/**
 * The dates of a cron job by these schedules: all of them if `cron` is there to find them. Without it only those that are on record: the
 * next and the newest date of each instance, and the ticks of runs and misses.
 */
export function datesOf(facts: JobFacts, jobs: readonly KnownJob[] = [facts.known]): JobDates {
  const schedules = new Map(jobs.map((job) => [scheduleKey(job), job])).values();
  const found = [...schedules].map(({ schedule, timeZone }) =>
    schedule === undefined ? undefined : facts.ticks?.(schedule, timeZone),
  );
  const all = found.filter((dates) => dates !== undefined);
  if (all.length === 0 || all.length < found.length) return toldDates(facts);
  return {
    complete: true,
    newest: (at) => greatest(all.map((dates) => dates.newest(at)).filter((date) => date !== undefined)),
    next: (at) => Math.min(...all.map((dates) => dates.next(at))),
  };
}

function toldDates(facts: JobFacts): JobDates {
  const { known, knownBy, runs, misses } = facts;
  const agreeing = knownBy.filter(({ job }) => scheduleKey(job) === scheduleKey(known));
  const dates = [
    ...agreeing.flatMap(({ job }) => [job.last, job.next]),
    ...runs.map(({ tick }) => tick),
    ...misses.map(({ tick }) => tick),
    lastStartOf(facts)?.tick,
  ].filter((date) => date !== undefined);
  return {
    complete: false,
    newest: (at) => greatest(dates.filter((date) => date <= at)),
    next: (at) => Math.min(...dates.filter((date) => date > at), Infinity),
  };
}

const greatest = (dates: readonly number[]): number | undefined =>
  dates.length === 0 ? undefined : Math.max(...dates);

/**
 * When an interval is due: one interval after its last start. One that never ran is due one interval after the first instance that
 * knows it has started.
 */
export function dueOf(facts: JobFacts): number | undefined {
  const { known, knownBy, runs } = facts;
  const { interval } = known;
  if (interval === undefined) return undefined;
  const due = lastStartOf(facts)?.due;
  if (due !== undefined) return due;
  const enabled = knownBy.filter(({ job }) => job.enabled && job.interval === interval);
  const start = runs[0]?.startedAt ?? Math.min(...enabled.map(({ startedAt }) => startedAt), Infinity);
  return start === Infinity ? undefined : start + interval;
}

/** The first tick after a run began; Infinity if there is none. A run that catches up with an old tick begins long after it. */
export function tickAfter(facts: JobFacts, { tick = -Infinity, startedAt }: RunInfo): number {
  const { kind, interval } = facts.known;
  if (kind === 'interval') return startedAt + (interval ?? Infinity);
  return kind === 'cron' ? datesOf(facts).next(Math.max(tick, startedAt)) : Infinity;
}
