import type { JobInfo, LockInfo, ReleaseOutcome } from '../lock-store.js';
import { readLockedBy } from './locked-by.js';

/** A row of the table, as it was read. Drivers represent numbers by different types. */
export interface LockRow {
  readonly name: string;
  readonly by: string;
  readonly remaining: unknown;
  /** Epoch milliseconds. */
  readonly since: unknown;
  readonly fence: unknown;
  /** The database's time, epoch milliseconds. */
  readonly now: unknown;
  /** The last start of each job. */
  readonly jobs: Readonly<Record<string, Start>>;
}

/** The last start of a job, as `job_state` has it. */
export type Start = Readonly<Record<string, unknown>>;

/** Reads a row. @param jobOf the job of a key in `job_state` */
export function lockRow(
  row: Readonly<Record<string, unknown>>,
  jobOf: (key: string) => string = (key) => key,
): LockRow {
  return { ...(row as unknown as LockRow), jobs: jobsOf(row['state'], jobOf) };
}

/** Describes the lock of a row. */
export function lockInfo(row: LockRow): LockInfo {
  const { holder, outcome } = readLockedBy(row.by);
  const remaining = Number(row.remaining);
  const free = remaining <= 0;
  return {
    name: row.name,
    state: free ? 'free' : outcome === undefined ? 'held' : 'cooling-down',
    holder,
    since: Math.floor(Number(row.since)),
    ...(free || !Number.isFinite(remaining) ? undefined : { expiresIn: Math.floor(remaining) }),
    ...(row.fence === null ? undefined : { fencingToken: Number(row.fence) }),
    jobs: Object.entries(row.jobs).map(([job, start]) => jobInfo(job, start)),
  };
}

function jobsOf(state: unknown, jobOf: (key: string) => string): Record<string, Start> {
  try {
    // Drivers differ in whether they parse it.
    const parsed: unknown = typeof state === 'string' ? JSON.parse(state) : state;
    const starts = Object.entries((parsed as { jobs?: Record<string, Start> } | null)?.jobs ?? {});
    return Object.fromEntries(starts.map(([key, start]) => [jobOf(key), start]));
  } catch {
    // The operations report foreign text in our column.
    return {};
  }
}

function jobInfo(job: string, { tick, attempt, outcome, due }: Start): JobInfo {
  if (tick === undefined || tick === null) return { job, due: Number(due) };
  const started = { job, tick: Number(tick), attempt: Number(attempt) };
  return typeof outcome === 'string' ? { ...started, outcome: outcome as ReleaseOutcome } : started;
}
