import { isTaken, type LockDocument } from '../../store/rules/document.js';
import { tickOf } from '../../store/rules/starts.js';
import type { Miss } from '../history-store.js';

/** The tick that was missed, by the document of the lock; `undefined` if no tick was missed. @param now of the database */
export function missedTick(
  { job, tick, grace = 0 }: Miss,
  document: LockDocument,
  now: number,
): number | undefined {
  const { lease, ended, stranger } = document;
  const isRun = lease !== undefined && ended === undefined && stranger === undefined;
  // Its run goes on, with a tick or by hand.
  if (isRun && isTaken(document, now) && lease.job === job) return undefined;
  const start = document.starts.get(job);
  if (start === undefined) return tick;
  if (!('due' in start)) return start.tick < tick ? tick : undefined;
  return start.due + grace < now ? start.due : undefined;
}

/** Whether a miss is reported late, and a newer tick was started since: then the document does not show whether this tick was started. */
export function isHidden({ job, tick, late = false }: Miss, { starts }: LockDocument): boolean {
  return late && (tickOf(starts, job)?.tick ?? NaN) > tick;
}
