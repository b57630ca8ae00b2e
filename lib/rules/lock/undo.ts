import type { LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import { NOTHING_RAN } from '../../contract/allowances.js';
import { type Starts, withoutUndo } from './starts.js';

/**
 * Rule 4: the run of a lease has ended. A tick keeps how. If nothing ran, the start that it had replaced comes back. Nothing changes if
 * the end of the run is known, or if the job was started again since.
 *
 * @returns the same object if nothing changes
 */
export function endStart(
  starts: Starts,
  { job = '', token }: Pick<LeaseRef, 'job' | 'token'>,
  outcome: ReleaseOutcome,
): Starts {
  const start = starts.get(job);
  if (start?.by !== token) return starts;
  const after = new Map(starts);
  if (outcome !== NOTHING_RAN) {
    const ended = withoutUndo(start);
    return after.set(job, 'tick' in ended ? { ...ended, outcome } : ended);
  }
  if (start.before === undefined) after.delete(job);
  else after.set(job, start.before);
  return after;
}
