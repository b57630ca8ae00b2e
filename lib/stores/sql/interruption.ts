import type { LeaseRef } from '../lock-store.js';
import { isUnended, readLockedBy } from './locked-by.js';
import { type Start, startedBy } from './lock-row.js';

/** The last lease of a lock, as the row had it before a grant. */
export interface LastLease {
  /** Its `locked_by`. */
  readonly by: string;
  /** Its fencing token. */
  readonly recorded: unknown;
  /** The last start of each job. */
  readonly jobs: Readonly<Record<string, Start>> | null;
}

/** What a grant tells of the last lease: nothing, unless that has ended by itself. */
export function interruptedIn({ by, recorded, jobs }: LastLease): {
  interrupted?: Pick<LeaseRef, 'fencingToken' | 'holder' | 'job' | 'tick' | 'attempt'>;
} {
  // One of ours has a fencing token, unless somebody has changed the row.
  if (!isUnended(by) || !(Number(recorded) > 0)) return {};
  const lease = { fencingToken: Number(recorded), holder: readLockedBy(by).holder };
  return { interrupted: { ...lease, ...startedBy(by, jobs ?? {}) } };
}
