import type { Miss } from '../../contract/history-store.js';
import { isTaken, type LockDocument } from './document.js';

/** Rule 17: the tick that was missed, or when an interval was due; `undefined` if no tick was missed. @param now of the database */
export function missedTick(
  document: LockDocument,
  now: number,
  { job, tick, grace = 0 }: Miss,
): number | undefined {
  const { lease, ended, stranger, starts } = document;
  const isOurs = ended === undefined && stranger === undefined && isTaken(document, now);
  // A run of the job goes on.
  if (isOurs && lease?.job === job) return undefined;
  const last = starts.get(job);
  if (last === undefined) return tick;
  if ('due' in last) return last.due + grace <= now ? last.due : undefined;
  return last.tick < tick ? tick : undefined;
}

/** Whether a miss is told late, and a newer tick was started since, which hides whether this one was. */
export function isHidden({ starts }: LockDocument, { job, tick, late = false }: Miss): boolean {
  const last = starts.get(job);
  return late && last !== undefined && 'tick' in last && last.tick > tick;
}
