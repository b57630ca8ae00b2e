import type { AcquireRefusal, AcquireRequest, JobInfo, ReleaseOutcome } from '../lock-store.js';

/** What is known of a job's last start: its tick, or when the next interval is due. */
type Start =
  | {
      readonly tick: number;
      readonly attempt: number;
      readonly schedule: string;
      readonly outcome: ReleaseOutcome | undefined;
    }
  | { readonly due: number; readonly interval: number };

/** An interval may start this much of it early: timers are late by different amounts. */
const ALLOWANCE = 0.1;

/** The last starts of the jobs under one lock. */
export class Starts {
  readonly #byJob = new Map<string, Start>();
  /** What the newest start has replaced, to be taken back if nothing ran. */
  #newest: { readonly job: string; readonly replaced: Start | undefined } | undefined;

  /** Why the job may not start now, if so. `now` is the store's time, epoch milliseconds. */
  refusal(request: AcquireRequest, now: number): AcquireRefusal | undefined {
    const { job = '', tick, interval, maxClockSkew, only } = request;
    const last = this.#byJob.get(job);
    if (tick !== undefined) {
      if (maxClockSkew !== undefined && tick > now + maxClockSkew) {
        return { acquired: false, reason: 'clock-skew', storeTime: now };
      }
      if (this.#isRerun(request)) return undefined;
      const known = last !== undefined && 'tick' in last;
      if (known && last.tick >= tick) return { acquired: false, reason: 'already-ran', ...this.last(job) };
      const refused = only === 'interrupted' || (only === 'known' && !known);
      return refused ? { acquired: false, reason: 'already-ran' } : undefined;
    }
    if (interval === undefined || last === undefined || !('due' in last)) return undefined;
    const wait = dueOf(last, interval) - interval * ALLOWANCE - now;
    return wait > 0 ? { acquired: false, reason: 'already-ran', expiresIn: Math.ceil(wait) } : undefined;
  }

  /** The newest tick of a job that was started. */
  last(job = ''): Pick<AcquireRefusal, 'tick' | 'finished'> {
    const last = this.#byJob.get(job);
    return last === undefined || !('tick' in last)
      ? {}
      : { tick: last.tick, finished: !isInterrupted(last.outcome) };
  }

  /** What is known of each job. */
  all(): JobInfo[] {
    return [...this.#byJob].map(([job, start]) => {
      if ('due' in start) return { job, due: start.due };
      const { tick, attempt, outcome } = start;
      return outcome === undefined ? { job, tick, attempt } : { job, tick, attempt, outcome };
    });
  }

  /** Notes a start. @param restored the attempt of a lease that is written back */
  start(
    request: AcquireRequest,
    now: number,
    restored?: number,
  ): { attempt?: number; previousSchedule?: string } {
    const { job = '', tick, interval, schedule = '' } = request;
    const replaced = this.#byJob.get(job);
    this.#newest = tick === undefined && interval === undefined ? undefined : { job, replaced };
    if (tick !== undefined) {
      const before = replaced !== undefined && 'tick' in replaced ? replaced : undefined;
      const attempt = this.#isRerun(request) ? (before?.attempt ?? 0) + 1 : (restored ?? 1);
      this.#byJob.set(job, { tick, attempt, schedule, outcome: undefined });
      const differs = before !== undefined && before.schedule !== '' && before.schedule !== schedule;
      return differs ? { attempt, previousSchedule: before.schedule } : { attempt };
    }
    if (interval !== undefined) {
      const due = replaced !== undefined && 'due' in replaced ? dueOf(replaced, interval) : 0;
      this.#byJob.set(job, { due: Math.max(due, now) + interval, interval });
    }
    return {};
  }

  #isRerun({ job = '', tick, rerun = 0 }: AcquireRequest): boolean {
    const last = this.#byJob.get(job);
    if (last === undefined || !('tick' in last)) return false;
    return last.tick === tick && last.attempt <= rerun && isInterrupted(last.outcome);
  }

  /** Notes how the newest start ended. */
  end(outcome: ReleaseOutcome): void {
    if (this.#newest === undefined) return;
    const { job, replaced } = this.#newest;
    this.#newest = undefined;
    const start = this.#byJob.get(job);
    if (outcome !== 'abandoned') {
      if (start !== undefined && 'tick' in start) this.#byJob.set(job, { ...start, outcome });
    } else if (replaced === undefined) this.#byJob.delete(job);
    else this.#byJob.set(job, replaced);
  }
}

/** When a job is due, counted by its interval of today: a deploy may have changed it. */
function dueOf({ due, interval }: { due: number; interval: number }, today: number): number {
  return due - interval + today;
}

/** Whether a run that is not going on any more has to count as interrupted: nothing was heard of its end. */
function isInterrupted(outcome: ReleaseOutcome | undefined): boolean {
  return outcome === undefined || outcome === 'aborted';
}
