import type { AcquireRefusal, AcquireRequest } from '../../contract/lock-store.js';
import { INTERVAL_ALLOWANCE, INTERVAL_ROUNDING } from '../../contract/allowances.js';
import { type Start, type Starts, withStart } from './starts.js';

/** An attempt for an interval. */
export type IntervalRequest = AcquireRequest & { readonly interval: number };

/** Rule 4: why an interval may not start now: a tenth of it before it is due again, it may. */
export function refusedInterval(
  starts: Starts,
  now: number,
  { job = '', interval }: IntervalRequest,
): AcquireRefusal | undefined {
  const left = dueOf(starts.get(job), interval, now) - interval * INTERVAL_ALLOWANCE - now;
  return left > 0 ? { acquired: false, reason: 'already-ran', expiresIn: Math.ceil(left) } : undefined;
}

/** Rule 4: the start of an interval: it is due one interval after it was due, or after now if it is late. In whole milliseconds. */
export function startInterval(starts: Starts, now: number, request: IntervalRequest): Starts {
  const { job = '', interval } = request;
  const from = Math.max(dueOf(starts.get(job), interval, now), now);
  return withStart(starts, request, { due: Math.round(from) + interval, interval });
}

/**
 * When a job is due, counted with its present interval, which a deploy may have changed: at once (0) if it never started. So also if
 * that lies further ahead than a start can put it: then the database's clock was set back, and the job would not run for that long.
 */
function dueOf(last: Start | undefined, interval: number, now: number): number {
  if (last === undefined || !('due' in last)) return 0;
  const due = last.due - last.interval + interval;
  return due - now > interval * (1 + INTERVAL_ALLOWANCE) + INTERVAL_ROUNDING ? 0 : due;
}
