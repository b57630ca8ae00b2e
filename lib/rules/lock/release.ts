import type { LeaseRef, ReleaseOptions, ReleaseResult } from '../../contract/lock-store.js';
import { NOTHING_RAN } from '../../contract/allowances.js';
import {
  type Decision,
  endAfter,
  FREE,
  isForgotten,
  isOf,
  isTaken,
  leaseOf,
  type LockDocument,
  NOTHING,
} from './document.js';
import { endStart } from './starts.js';

/** Rule 3: releases a lease, and records it as ended. @param now of the database */
export function release(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  options: Pick<ReleaseOptions, 'outcome' | 'keepFor'> = {},
): Decision<ReleaseResult> {
  if (document === undefined || !isOf(document, lease)) return notOwn(document, now, lease, options);
  if (document.ended !== undefined) return { answer: { released: false, reason: 'ended' } };
  const { outcome = 'completed', keepFor = 0 } = options;
  const kept = { ...document, ended: outcome, starts: endStart(document.starts, lease, outcome) };
  // One that has run out is recorded as well, or `extend` would restore it.
  if (!isTaken(document, now))
    return { answer: { released: false, reason: 'expired' }, change: { kept, end: FREE } };
  return { answer: { released: true }, change: { kept, end: endAfter(keepFor) } };
}

/** The document is not of this lease. */
function notOwn(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  { outcome = 'completed' }: Pick<ReleaseOptions, 'outcome'>,
): Decision<ReleaseResult> {
  const known = document ?? NOTHING;
  // Rule 4: nothing ran under it, even if another one had the lock since.
  const starts = outcome === NOTHING_RAN ? endStart(known.starts, lease, outcome) : known.starts;
  // Its end is recorded where it was forgotten, and frees the lock if an older one has it. Not so for a grant that was never answered
  // (0): it can never be restored, and its end could hide a live lease.
  if (lease.fencingToken > 0 && isForgotten(document, lease)) {
    const kept = { lease: leaseOf(lease), ended: outcome, starts, more: known.more ?? {} };
    return { answer: { released: false, reason: 'expired' }, change: { kept, end: FREE, begins: true } };
  }
  const answer = { released: false, reason: isTaken(known, now) ? 'taken' : 'expired' } as const;
  return starts === known.starts ? { answer } : { answer, change: { kept: { ...known, starts } } };
}
