import type { KnownJob } from '../contract/history-store.js';
import { hasTicks, type Known } from './strangers.js';
import { isUp } from './join.js';

/** A job of this instance that another live one seems to have under another name. */
export interface Renamed {
  readonly job: string;
  readonly other: string;
  readonly instance: string;
}

/**
 * Jobs that another build calls otherwise, because somebody or a bundler has renamed their classes: each of two live instances has one
 * that the other has not, with one schedule, and under one lock or with names that differ as those of bundlers do.
 */
export function renamedAmong(own: readonly KnownJob[], instances: readonly Known[]): Renamed[] {
  const mine = new Set(own.map(({ job }) => job));
  const renamed = new Map<string, Renamed>();
  for (const { instance, jobs, ...state } of instances) {
    if (!isUp(state)) continue;
    const theirs = new Set(jobs.map(({ job }) => job));
    const others = jobs.filter((job) => hasTicks(job) && !mine.has(job.job));
    for (const job of own) {
      if (renamed.has(job.job) || !hasTicks(job) || theirs.has(job.job)) continue;
      const other = others.find((one) => isLikely(job, one));
      if (other !== undefined) renamed.set(job.job, { job: job.job, other: other.job, instance });
    }
  }
  return [...renamed.values()];
}

const isLikely = (one: KnownJob, other: KnownJob): boolean =>
  scheduleOf(one) === scheduleOf(other) &&
  ((one.lock !== undefined && one.lock === other.lock) || bareName(one.job) === bareName(other.job));

const scheduleOf = ({ schedule, timeZone, interval }: KnownJob): string =>
  JSON.stringify([schedule, timeZone, interval]);

/** Bundlers make `X2`, `X$1` and `_X` of a class `X` of which there is another one. They leave a name without a class as it is. */
const bareName = (job: string): string => job.replace(/^_*(.*?)\$?\d*(\..*)$/s, '$1$2');
