import type { LeaseRef } from '../../contract/lock-store.js';
import { type LockRecord, leaseOf, type LockDocument, NOTHING } from './document.js';
import { type Starts, tickOf, withStart } from './starts.js';

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
