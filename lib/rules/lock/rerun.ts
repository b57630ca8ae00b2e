import type { AcquireRequest } from '../../contract/lock-store.js';
import { isInterrupted } from '../../contract/allowances.js';
import { type Starts, tickOf } from './starts.js';

/**
 * Rule 4: whether an attempt repeats the job's last tick, whose run was interrupted: it was aborted, or its holder died before it
 * could say how it ended. At most `rerun` times.
 */
export function isRerun(starts: Starts, { job, tick, rerun = 0 }: AcquireRequest): boolean {
  const last = tickOf(starts, job);
  return last !== undefined && last.tick === tick && last.attempt <= rerun && isInterrupted(last.outcome);
}
