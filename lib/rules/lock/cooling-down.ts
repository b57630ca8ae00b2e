import { isTaken, type LockDocument } from './document.js';

/**
 * Rule 5: the end of a lock that was released, ms from now: a day ago, so that it stays free if the database's clock is set back by hours.
 * Not longer ago: people delete rows whose locks have been free for long.
 */
export const FREE = -86_400_000;

/** How long a lock stays taken after its lease was released (`atLeast`), ms. */
export const endAfter = (keepFor: number): number => (keepFor > 0 ? keepFor : FREE);

/** What a lock looks like: after its lease was released, it may stay taken for a while. Another program tells nothing of that. */
export function lockState(document: LockDocument, now: number): 'free' | 'held' | 'cooling-down' {
  if (!isTaken(document, now)) return 'free';
  return document.stranger === undefined && document.ended !== undefined ? 'cooling-down' : 'held';
}
