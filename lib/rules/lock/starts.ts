import type { LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import type { JobInfo } from '../../contract/lock-info.js';

/** The last start of each job under a lock. */
export type Starts = ReadonlyMap<string, Start>;

/** A job's last start: its tick, or when its interval is due again. */
export type Start = (TickStart | IntervalStart) & Undo;

export interface TickStart {
  readonly tick: number;
  /** Which run of the tick it was, from 1. */
  readonly attempt: number;
  readonly schedule: string;
  /** How that run has ended. */
  readonly outcome?: ReleaseOutcome | undefined;
}

export interface IntervalStart {
  /** When the job is due again, by the database's clock, epoch milliseconds. */
  readonly due: number;
  /** The interval that `due` was counted with. */
  readonly interval: number;
}

/** How to undo a start, until its run has ended. */
export interface Undo {
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

export function withoutUndo({ by: _by, before: _before, ...start }: Start): Start {
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
    const { tick, attempt, outcome } = start;
    return outcome === undefined ? { job, tick, attempt } : { job, tick, attempt, outcome };
  });
}
