import type { LeaseRef } from '../lock-store.js';
import { isUnended, readLockedBy } from './locked-by.js';
import { type Start, startedBy } from './lock-row.js';

/** The last lease of a lock before a grant, by the row. */
export interface LastLease {
  /** The `locked_by` of the lease. */
  readonly by: string;
  /** Its fencing token. */
  readonly recorded: unknown;
  /** The last start of each job. */
  readonly jobs: Readonly<Record<string, Start>> | null;
}

/** What a grant says of the last lease: nothing, unless the last lease ran out without a release. */
export function interruptedIn({ by, recorded, jobs }: LastLease): {
  interrupted?: Pick<LeaseRef, 'fencingToken' | 'holder' | 'job' | 'tick' | 'attempt'>;
} {
  // A lease of this library has a fencing token, unless somebody has changed the row.
  if (!isUnended(by) || !(Number(recorded) > 0)) return {};
  const lease = { fencingToken: Number(recorded), holder: readLockedBy(by).holder };
  return { interrupted: { ...lease, ...startedBy(by, jobs ?? {}) } };
}
