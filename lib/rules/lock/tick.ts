import type { AcquireRefusal, AcquireRequest } from '../../contract/lock-store.js';
import { lastStart } from '../../contract/allowances.js';
import { isRerun } from './rerun.js';
import { type Starts, tickOf, withStart } from './starts.js';

/** An attempt for a tick. */
export type TickRequest = AcquireRequest & { readonly tick: number };

/** Rule 4: why a tick may not start now; `undefined` if it may. */
export function refusedTick(starts: Starts, now: number, request: TickRequest): AcquireRefusal | undefined {
  const { job, tick, maxClockSkew = Infinity, only } = request;
  if (tick > now + maxClockSkew) return { acquired: false, reason: 'clock-skew', storeTime: Math.trunc(now) };
  if (isRerun(starts, request)) return undefined;
  const last = tickOf(starts, job);
  const refusal = { acquired: false, reason: 'already-ran' } as const;
  if (last !== undefined && last.tick >= tick) return { ...refusal, ...lastTick(starts, job) };
  const isUnwanted = only === 'interrupted' || (only === 'known' && last === undefined);
  return isUnwanted ? refusal : undefined;
}

/** Rule 4: the start of a tick that may start: which run of it this is, and the schedule of the start before if that was another. */
export function startTick(
  starts: Starts,
  request: TickRequest,
): { starts: Starts; attempt: number; previousSchedule?: string } {
  const { job, tick, schedule = '' } = request;
  const last = tickOf(starts, job);
  const attempt = last !== undefined && isRerun(starts, request) ? last.attempt + 1 : 1;
  const started = { starts: withStart(starts, request, { tick, attempt, schedule }), attempt };
  const earlier = last?.schedule ?? '';
  return earlier === '' || earlier === schedule ? started : { ...started, previousSchedule: earlier };
}

/** The job's newest tick that was started, for a refusal. */
export function lastTick(starts: Starts, job?: string): Pick<AcquireRefusal, 'tick' | 'finished'> {
  const last = tickOf(starts, job);
  return last === undefined ? {} : lastStart(last.tick, last.outcome);
}
