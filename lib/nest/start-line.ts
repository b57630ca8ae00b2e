import { counted } from '../base/wording.js';

/** How many jobs are named; the others are only counted, so that people can read the line. */
const MAX_NAMES = 8;

/** The facts about a guarded method that the line shows. */
export interface GuardedJob {
  readonly job: string;
  /** Whether the scheduler fires it. */
  readonly scheduled: boolean;
  readonly enabled: boolean;
}

/**
 * The log line at the start: what is guarded, on which instance, and in which store. `undefined` if nothing is
 * guarded.
 */
export function startLine(
  jobs: readonly GuardedJob[],
  { instance, store, leader }: { instance: string; store: string; leader?: string | undefined },
): string | undefined {
  if (jobs.length === 0) return undefined;
  const scheduled = jobs.filter((job) => job.scheduled);
  const others = jobs.filter((job) => !job.scheduled);
  const counts = [
    scheduled.length > 0 && counted(scheduled.length, 'scheduled job'),
    others.length > 0 && counted(others.length, scheduled.length > 0 ? 'other method' : 'method'),
  ];
  const what = counts.filter(Boolean).join(' and ');
  const elected =
    leader === undefined || scheduled.length === 0 || others.length > 0 ? '' : `, which leads "${leader}"`;
  const run = jobs.length === 1 ? 'runs' : 'run';
  const all = names([...scheduled, ...others].map(({ job }) => job));
  return `${what} ${run} on one instance at a time${elected} (${all})${notHere(jobs)}: this is instance ${instance}, its locks are in ${store}`;
}

function notHere(jobs: readonly GuardedJob[]): string {
  const off = jobs.filter(({ enabled }) => !enabled);
  if (off.length === 0) return '';
  if (off.length < jobs.length) return `, but not here (enabled: false): ${names(off.map(({ job }) => job))}`;
  return `, but ${off.length === 1 ? 'not' : 'none of them'} here (enabled: false)`;
}

/** The first jobs by name, and how many more there are. */
export function names(jobs: readonly string[]): string {
  const shown = jobs.slice(0, MAX_NAMES);
  const more = jobs.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}
