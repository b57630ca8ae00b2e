import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { JobInfo, LockInfo } from '../lock-info.js';
import { isUnended, NOBODY, readLockedBy } from './locked-by.js';
import type { Row } from './row.js';

/** A row of the table of the locks, as it was read. Drivers represent numbers by different types. */
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
  /** The line of calls that wait, if there is one: see lines.ts. */
  readonly line?: unknown;
}

/** The last start of a job, by `job_state`. */
export type Start = Readonly<Record<string, unknown>>;

/** Reads a row. @param jobOf the job of a key in `job_state` */
export function lockRow(row: Row, jobOf: (key: string) => string = (key) => key): LockRow {
  const { jobs = {}, line } = stateOf(row['state']);
  return { ...(row as unknown as LockRow), jobs: jobsOf(jobs, jobOf), ...(line && { line }) };
}

/** Describes the lock of a row. */
export function lockInfo(row: LockRow): LockInfo {
  const { holder, token, outcome } = readLockedBy(row.by);
  const remaining = Number(row.remaining);
  const free = remaining <= 0;
  const { job } = startedBy(row.by, row.jobs);
  return {
    name: row.name,
    time: Math.floor(Number(row.now)),
    state: free ? 'free' : outcome === undefined ? 'held' : 'cooling-down',
    ...(row.by === NOBODY ? undefined : { holder }),
    since: Math.floor(Number(row.since)),
    ...(free || !Number.isFinite(remaining) ? undefined : { expiresIn: Math.floor(remaining) }),
    ...(row.fence === null ? undefined : { fencingToken: Number(row.fence) }),
    ...tokenOf(free || outcome !== undefined ? undefined : token),
    ...(job === undefined ? undefined : { job }),
    ...(free && isUnended(row.by) ? { interrupted: true } : undefined),
    jobs: Object.entries(row.jobs).map(([job, start]) => jobInfo(job, start)),
  };
}

const tokenOf = (token: string | undefined): Pick<LockInfo, 'token'> =>
  token === undefined ? {} : { token };

/** The start that a lease which has not ended has begun, if its job has ticks or an interval. */
export function startedBy(
  by: string,
  jobs: Readonly<Record<string, Start>>,
): Pick<LeaseRef, 'job' | 'tick' | 'attempt'> {
  const [job, start] = Object.entries(jobs).find(([, each]) => each['by'] === by) ?? [];
  if (job === undefined) return {};
  const { tick, attempt } = start ?? {};
  const known = job === '' ? {} : { job };
  return (tick ?? null) === null ? known : { ...known, tick: Number(tick), attempt: Number(attempt) };
}

interface JobState {
  readonly jobs?: Record<string, Start>;
  readonly line?: object;
}

function stateOf(state: unknown): JobState {
  try {
    // Some drivers parse JSON, some do not.
    return ((typeof state === 'string' ? JSON.parse(state) : state) ?? {}) as JobState;
  } catch {
    // Operations report a foreign text in our column.
    return {};
  }
}

function jobsOf(jobs: Record<string, Start>, jobOf: (key: string) => string): Record<string, Start> {
  try {
    return Object.fromEntries(Object.entries(jobs).map(([key, start]) => [jobOf(key), start]));
  } catch {
    // Another program has written the key.
    return {};
  }
}

function jobInfo(job: string, { tick, attempt, outcome, due }: Start): JobInfo {
  if (tick === undefined || tick === null) return { job, due: Number(due) };
  const started = { job, tick: Number(tick), attempt: Number(attempt) };
  return typeof outcome === 'string' ? { ...started, outcome: outcome as ReleaseOutcome } : started;
}
