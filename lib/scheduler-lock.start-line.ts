/** A guarded method, as far as the line says something of it. */
export interface GuardedJob {
  readonly job: string;
  /** Whether the scheduler fires it. */
  readonly scheduled: boolean;
  readonly enabled: boolean;
}

/** More are only counted: the line is to be read. */
const MAX_NAMES = 8;

/** What is guarded, by whom, and where: what the log says once at the start; `undefined` if nothing is guarded. */
export function startLine(
  jobs: readonly GuardedJob[],
  { instance, store, leader }: { instance: string; store: string; leader?: string | undefined },
): string | undefined {
  if (jobs.length === 0) return undefined;
  const scheduled = jobs.filter((job) => job.scheduled);
  const others = jobs.filter((job) => !job.scheduled);
  const counts = [
    count(scheduled, 'scheduled job'),
    count(others, scheduled.length === 0 ? 'method' : 'other method'),
  ];
  const what = counts.filter(Boolean).join(' and ');
  const elected =
    leader === undefined || scheduled.length === 0 || others.length > 0 ? '' : `, which leads "${leader}"`;
  const run = jobs.length === 1 ? 'runs' : 'run';
  const all = names([...scheduled, ...others]);
  return `${what} ${run} on one instance at a time${elected} (${all})${notHere(jobs)}: this is instance ${instance}, its locks are in ${store}`;
}

function notHere(jobs: readonly GuardedJob[]): string {
  const off = jobs.filter(({ enabled }) => !enabled);
  if (off.length === 0) return '';
  if (off.length < jobs.length) return `, but not here (enabled: false): ${names(off)}`;
  return `, but ${off.length === 1 ? 'not' : 'none of them'} here (enabled: false)`;
}

function count({ length }: readonly GuardedJob[], what: string): string {
  return length === 0 ? '' : `${length} ${what}${length === 1 ? '' : 's'}`;
}

function names(jobs: readonly GuardedJob[]): string {
  const shown = jobs.slice(0, MAX_NAMES).map(({ job }) => job);
  const more = jobs.length - shown.length;
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`;
}
