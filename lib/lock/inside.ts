import { LockHandle } from './acquired-lock.js';
import { type LeasedScope, type Lock, withinScope } from './current-lock.js';
import type { LockCall, RunResult } from './lock-call.js';
import { refuseUndone } from './undone-values.js';

/** Runs a nested call, made by a job that already holds the lock, under the same lease. */
export async function runInside<T>(
  outer: LeasedScope,
  call: LockCall,
  job: (lock: Lock) => T | PromiseLike<T>,
): Promise<RunResult<T>> {
  const value = await withinScope(outer, job);
  refuseUndone(value, call);
  return { ran: true, value };
}

/** Takes a lock inside a job that already holds it: the handle shares the lease, which ends with that job. */
export function acquireInside({ lease }: LeasedScope): LockHandle {
  const handle = new LockHandle(lease);
  lease.enter();
  handle.finished = handle.released.then(() => lease.leave());
  return handle;
}
