import type { JobInfo, LockInfo, ReleaseOutcome } from '../lock-store.js';
import { readLockedBy } from './locked-by.js';

/** A row of the table, for people to look at. */
export interface LockRow {
  readonly name: string;
  readonly by: string;
  readonly remaining: unknown;
  /** Epoch milliseconds. */
  readonly since: unknown;
  readonly fence: unknown;
  /** `job_state`: drivers differ in whether they parse it. */
  readonly state: unknown;
}

/** Describes the lock of a row. @param jobOf the job of a key in `job_state` */
export function lockInfo(row: LockRow, jobOf: (key: string) => string = (key) => key): LockInfo {
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
    jobs: Object.entries(jobsOf(row.state)).map(([key, start]) => jobInfo(jobOf(key), start)),
  };
}

type Start = Readonly<Record<string, unknown>>;

function jobsOf(state: unknown): Readonly<Record<string, Start>> {
  try {
    const parsed: unknown = typeof state === 'string' ? JSON.parse(state) : state;
    return (parsed as { jobs?: Record<string, Start> } | null)?.jobs ?? {};
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
