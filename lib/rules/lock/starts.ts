import type { AcquireRefusal, AcquireRequest, LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import type { JobInfo } from '../../contract/lock-info.js';
import { given } from '../../base/shared.js';
import {
  INTERVAL_ALLOWANCE,
  INTERVAL_ROUNDING,
  isInterrupted,
  lastStart,
  NOTHING_RAN,
} from '../../contract/allowances.js';

/** The last start of each job under a lock. */
export type Starts = ReadonlyMap<string, Start>;

/** A job's last start: its tick, or when its interval is due again. */
export type Start = (TickStart | IntervalStart) & Undo;

interface TickStart {
  readonly tick: number;
  /** Which run of the tick it was, from 1. */
  readonly attempt: number;
  readonly schedule: string;
  /** How that run has ended. */
  readonly outcome?: ReleaseOutcome | undefined;
  /** From when on it may be tried again, by the database's clock, epoch milliseconds. */
  readonly retryAt?: number | undefined;
}

interface IntervalStart {
  /** When the job is due again, by the database's clock, epoch milliseconds. */
  readonly due: number;
  /** The interval that `due` was counted with. */
  readonly interval: number;
}

/** How to undo a start, until its run has ended. */
interface Undo {
  /** Token of the lease that it belongs to. */
  readonly by?: string | undefined;
  /** The start that it has replaced. */
  readonly before?: Start | undefined;
}

/** The last tick of a job; `undefined` if it never started by one. */
export function tickOf(starts: Starts, job = ''): (TickStart & Undo) | undefined {
  const last = starts.get(job);
  return last !== undefined && 'tick' in last ? last : undefined;
}

/** Notes a start in place of the last one of its job. */
export function withStart(
  starts: Starts,
  { job = '', token }: Pick<LeaseRef, 'job' | 'token'>,
  start: TickStart | IntervalStart,
): Starts {
  const replaced = starts.get(job);
  const before = replaced === undefined ? undefined : withoutUndo(replaced);
  return new Map(starts).set(job, { ...start, by: token, ...(before === undefined ? {} : { before }) });
}

function withoutUndo({ by: _by, before: _before, ...start }: Start): Start {
  return start;
}

/** The tick and the attempt of a lease, if it has started one, and that has not ended. */
export function startedBy(
  starts: Starts,
  { token, job }: Pick<LeaseRef, 'token' | 'job'>,
): Pick<LeaseRef, 'tick' | 'attempt'> {
  const start = tickOf(starts, job);
  return start?.by === token ? { tick: start.tick, attempt: start.attempt } : {};
}

/** The last starts, for people. */
export function jobInfos(starts: Starts): JobInfo[] {
  return [...starts].map(([job, start]) => {
    if ('due' in start) return { job, due: start.due };
    const { tick, attempt, outcome, retryAt } = start;
    return { job, tick, attempt, ...given({ outcome, retryAt }) };
  });
}

/** Rule 4: why the job may not start now; `undefined` if it may. An interval may a tenth of it before it is due again. */
export function refusedStart(
  starts: Starts,
  now: number,
  request: AcquireRequest,
): AcquireRefusal | undefined {
  const { job = '', tick, interval } = request;
  if (tick !== undefined) return refusedTick(starts, now, request, tick);
  if (interval === undefined) return undefined;
  const left = dueOf(starts.get(job), interval, now) - interval * INTERVAL_ALLOWANCE - now;
  return left > 0 ? { acquired: false, reason: 'already-ran', expiresIn: Math.ceil(left) } : undefined;
}

function refusedTick(
  starts: Starts,
  now: number,
  request: AcquireRequest,
  tick: number,
): AcquireRefusal | undefined {
  const { job, maxClockSkew = Infinity, only } = request;
  if (tick > now + maxClockSkew) return { acquired: false, reason: 'clock-skew', storeTime: Math.trunc(now) };
  if (isRepeated(starts, now, request)) return undefined;
  const last = tickOf(starts, job);
  const refusal = { acquired: false, reason: 'already-ran' } as const;
  if (last !== undefined && last.tick >= tick) {
    // One that failed may have to wait before it is tried again.
    const isAwaited = last.tick === tick && last.retryAt !== undefined;
    const wait = isAwaited && { expiresIn: Math.ceil(last.retryAt - now) };
    return { ...refusal, ...lastTick(starts, job), ...wait };
  }
  const isUnwanted = only === 'interrupted' || (only === 'known' && last === undefined);
  return isUnwanted ? refusal : undefined;
}

/**
 * Rule 4: notes the start of a job that may start. Tells which run of its tick that is, and the schedule of the start before if that was
 * another. An interval is due one interval after it was due, or after now if it is late, in whole milliseconds.
 */
export function noteStart(
  starts: Starts,
  now: number,
  request: AcquireRequest,
): { starts: Starts; attempt?: number; previousSchedule?: string } {
  const { job = '', tick, schedule = '', interval } = request;
  if (tick !== undefined) {
    const last = tickOf(starts, job);
    const attempt = last !== undefined && isRepeated(starts, now, request) ? last.attempt + 1 : 1;
    const started = { starts: withStart(starts, request, { tick, attempt, schedule }), attempt };
    const earlier = last?.schedule ?? '';
    return earlier === '' || earlier === schedule ? started : { ...started, previousSchedule: earlier };
  }
  if (interval === undefined) return { starts };
  const from = Math.max(dueOf(starts.get(job), interval, now), now);
  return { starts: withStart(starts, request, { due: Math.round(from) + interval, interval }) };
}

/** The job's newest tick that was started, for a refusal. */
export function lastTick(starts: Starts, job?: string): Pick<AcquireRefusal, 'tick' | 'finished'> {
  const last = tickOf(starts, job);
  return last === undefined ? {} : lastStart(last.tick, last.outcome, last.retryAt);
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

/**
 * Rule 4: whether an attempt repeats the job's last tick, whose run was interrupted: it was aborted, or its holder died before it
 * could say how it ended. At most `rerun` times. Or it failed, and the time has come to try it again.
 */
function isRepeated(starts: Starts, now: number, { job, tick, rerun = 0 }: AcquireRequest): boolean {
  const last = tickOf(starts, job);
  if (last === undefined || last.tick !== tick) return false;
  if (last.retryAt !== undefined) return last.retryAt <= now;
  return last.attempt <= rerun && isInterrupted(last.outcome);
}

/**
 * Rule 4: the run of a lease has ended. A tick keeps how. If nothing ran, the start that it had replaced comes back. Nothing changes if
 * the end of the run is known, or if the job was started again since.
 *
 * @param retryAt from when on a failed run may be tried again, by the database's clock
 * @returns the same object if nothing changes
 */
export function endStart(
  starts: Starts,
  { job = '', token }: Pick<LeaseRef, 'job' | 'token'>,
  outcome: ReleaseOutcome,
  retryAt?: number,
): Starts {
  const start = starts.get(job);
  if (start?.by !== token) return starts;
  const after = new Map(starts);
  if (outcome !== NOTHING_RAN) {
    const ended = withoutUndo(start);
    return after.set(job, 'tick' in ended ? { ...ended, outcome, ...given({ retryAt }) } : ended);
  }
  if (start.before === undefined) after.delete(job);
  else after.set(job, start.before);
  return after;
}
