import type { ExtendResult, LeaseRef } from '../../contract/lock-store.js';
import { type Decision, holderOf, isForgotten, isOf, isTaken, type LockDocument } from './document.js';
import { restored } from './restore.js';

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
