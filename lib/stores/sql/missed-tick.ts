import type { Miss } from '../history-store.js';
import { isFree } from './answers.js';
import type { LockRow } from './lock-row.js';

/** The tick that was missed, by the row of the lock; `undefined` if no tick was missed. */
export function missedTick({ job, tick, grace = 0 }: Miss, row: LockRow): number | undefined {
  const start = row.jobs[job];
  if (start === undefined) return tick;
  if (!isFree(row) && start['by'] === row.by) return undefined;
  const due = start['due'];
  if (due === undefined) return Number(start['tick'] ?? -Infinity) < tick ? tick : undefined;
  return Number(due) + grace < Number(row.now) ? Number(due) : undefined;
}

/** Whether a miss is reported late, and a newer tick was started since: then the row does not show whether this tick was started. */
export function isHidden({ job, tick, late = false }: Miss, row: LockRow): boolean {
  return late && Number(row.jobs[job]?.['tick'] ?? NaN) > tick;
}
