import type { LeaseRef } from '../../contract/lock-store.js';
import { type Decision, isOf, isTaken, type LockDocument, nextFencingToken } from './document.js';

/**
 * Rule 15: the holder of a live lease goes on with a queued call: that is another lease of the same token, for the run of its job, and the
 * one before is over.
 *
 * @returns its fencing token; `undefined` if the lease is not held
 */
export function regrant(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
  { job, ttl }: { readonly job: string; readonly ttl: number },
): Decision<number | undefined> {
  if (document?.lease === undefined || !isHeld(document, now, lease)) return { answer: undefined };
  const fencingToken = nextFencingToken(lease.name, document, now);
  const kept = { ...document, lease: { ...document.lease, job, fencingToken } };
  return { answer: fencingToken, change: { kept, end: ttl } };
}

/** Whether this lease has the lock. */
export function isHeld(document: LockDocument, now: number, lease: LeaseRef): boolean {
  return isOf(document, lease) && document.ended === undefined && isTaken(document, now);
}
