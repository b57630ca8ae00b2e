import type { ExtendResult, LeaseRef } from '../../contract/lock-store.js';
import {
  type Decision,
  holderOf,
  isForgotten,
  isOf,
  isTaken,
  leaseOf,
  type LockDocument,
  type LockRecord,
  nextFencingToken,
  NOTHING,
} from './document.js';
import { type Starts, tickOf, withStart } from './starts.js';

/** Rule 3: renews a lease, or restores one that the database has forgotten. @param now of the database */
export function extend(
  document: LockDocument | undefined,
  now: number,
  lease: LeaseRef,
): Decision<ExtendResult> {
  const end = lease.ttl;
  if (document !== undefined && isOf(document, lease)) {
    if (document.ended !== undefined) return { answer: { held: false, reason: 'expired' } };
    const answer = isTaken(document, now) ? LIVE : RESTORED;
    return { answer, change: { kept: document, end } };
  }
  if (isForgotten(document, lease))
    return { answer: RESTORED, change: { kept: restored(document, lease), end, begins: true } };
  const isOver = document === undefined || !isTaken(document, now);
  return {
    answer: isOver
      ? { held: false, reason: 'expired' }
      : { held: false, reason: 'taken', ...holderOf(document) },
  };
}

const LIVE: ExtendResult = { held: true };
const RESTORED: ExtendResult = { held: true, restored: true };

/** Rule 3: what is written back of a lease that was forgotten, over nothing or over an older lease. */
export function restored(document: LockDocument = NOTHING, lease: LeaseRef): LockRecord {
  return { lease: leaseOf(lease), starts: restoredStart(document.starts, lease), more: document.more ?? {} };
}

/** Rule 3: the tick comes back with its lease, unless a newer one of the job is known. */
function restoredStart(starts: Starts, lease: LeaseRef): Starts {
  const { job, tick, attempt = 1 } = lease;
  if (tick === undefined) return starts;
  const last = tickOf(starts, job);
  const isNewer = last !== undefined && (last.tick > tick || (last.tick === tick && last.attempt > attempt));
  return isNewer ? starts : withStart(starts, lease, { tick, attempt, schedule: '' });
}

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
