import type { AcquireRefusal, AcquireRequest, ReleaseOutcome } from '../lock-store.js';

/** What is known of a job's last start: its tick, or when the next interval is due. */
type Start =
  | { readonly tick: number; readonly schedule: string; readonly outcome: ReleaseOutcome | undefined }
  | { readonly due: number };

/** An interval may start this much of it early: timers are late by different amounts. */
const ALLOWANCE = 0.1;

/** The last starts of the jobs under one lock. */
export class Starts {
  readonly #byJob = new Map<string, Start>();
  /** What the newest start has replaced, to be taken back if nothing ran. */
  #newest: { readonly job: string; readonly replaced: Start | undefined } | undefined;

  /** Why the job may not start now, if so. `now` is the store's time, epoch milliseconds. */
  refusal(
    { job = '', tick, interval, maxClockSkew }: AcquireRequest,
    now: number,
  ): AcquireRefusal | undefined {
    const last = this.#byJob.get(job);
    if (tick !== undefined) {
      if (maxClockSkew !== undefined && tick > now + maxClockSkew) {
        return { acquired: false, reason: 'clock-skew', storeTime: now };
      }
      if (last === undefined || !('tick' in last) || last.tick < tick) return undefined;
      return {
        acquired: false,
        reason: 'already-ran',
        tick: last.tick,
        finished: last.outcome !== undefined,
      };
    }
    if (interval === undefined || last === undefined || !('due' in last)) return undefined;
    const wait = last.due - interval * ALLOWANCE - now;
    return wait > 0 ? { acquired: false, reason: 'already-ran', expiresIn: Math.ceil(wait) } : undefined;
  }

  /** Notes a start. Returns the schedule that the last one had, if it was another one. */
  start({ job = '', tick, interval, schedule = '' }: AcquireRequest, now: number): string | undefined {
    const replaced = this.#byJob.get(job);
    this.#newest = undefined;
    if (tick === undefined && interval === undefined) return undefined;
    this.#newest = { job, replaced };
    if (tick === undefined) {
      const due = replaced !== undefined && 'due' in replaced ? replaced.due : 0;
      this.#byJob.set(job, { due: Math.max(due, now) + (interval ?? 0) });
      return undefined;
    }
    this.#byJob.set(job, { tick, schedule, outcome: undefined });
    const previous = replaced !== undefined && 'tick' in replaced ? replaced.schedule : '';
    return previous === '' || previous === schedule ? undefined : previous;
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
