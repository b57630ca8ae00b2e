import { INTERVAL_ALLOWANCE, isInterrupted, lastStart, NOTHING_RAN } from '../rules.js';
import type { AcquireRefusal, AcquireRequest, JobInfo, LeaseRef, ReleaseOutcome } from '../lock-store.js';

/** A job's last start: its tick, or when the interval is due again. */
type Start = Undo & (Tick | Interval);

/** How to undo a start if nothing ran. Kept until its lease has ended. */
interface Undo {
  /** Token of the lease that recorded the start. */
  readonly by?: string | undefined;
  /** The start that it replaced. */
  readonly before?: Start | undefined;
}

interface Tick {
  readonly tick: number;
  readonly attempt: number;
  readonly schedule: string;
  readonly outcome: ReleaseOutcome | undefined;
}

interface Interval {
  readonly due: number;
  readonly interval: number;
}

/** The last starts of the jobs under one lock. */
export class Starts {
  readonly #byJob = new Map<string, Start>();

  /** Why the job may not start now; `undefined` if it may. `now` is the store's time, epoch milliseconds. */
  refusal(request: AcquireRequest, now: number): AcquireRefusal | undefined {
    const { job = '', tick, interval } = request;
    if (tick !== undefined) return this.#refusalOfTick(request, tick, now);
    if (interval === undefined) return undefined;
    const wait = dueOf(this.#byJob.get(job), interval, now) - interval * INTERVAL_ALLOWANCE - now;
    return wait > 0 ? { acquired: false, reason: 'already-ran', expiresIn: Math.ceil(wait) } : undefined;
  }

  #refusalOfTick(request: AcquireRequest, tick: number, now: number): AcquireRefusal | undefined {
    const { job = '', maxClockSkew, only } = request;
    if (maxClockSkew !== undefined && tick > now + maxClockSkew)
      return { acquired: false, reason: 'clock-skew', storeTime: now };
    if (this.#isRerun(request)) return undefined;
    const last = this.#tickOf(job);
    if (last !== undefined && last.tick >= tick)
      return { acquired: false, reason: 'already-ran', ...this.last(job) };
    const refused = only === 'interrupted' || (only === 'known' && last === undefined);
    return refused ? { acquired: false, reason: 'already-ran' } : undefined;
  }

  /** The newest tick of a job that was started. */
  last(job = ''): Pick<AcquireRefusal, 'tick' | 'finished'> {
    const last = this.#tickOf(job);
    return last === undefined ? {} : lastStart(last.tick, last.outcome);
  }

  /** The last start of each job. */
  all(): JobInfo[] {
    return [...this.#byJob].map(([job, start]) => {
      if ('due' in start) return { job, due: start.due };
      const { tick, attempt, outcome } = start;
      return outcome === undefined ? { job, tick, attempt } : { job, tick, attempt, outcome };
    });
  }

  /** Records a start. */
  start(request: AcquireRequest, now: number): { attempt?: number; previousSchedule?: string } {
    const { job = '', tick, interval, schedule = '' } = request;
    if (tick === undefined && interval !== undefined) {
      const due = Math.max(dueOf(this.#byJob.get(job), interval, now), now);
      this.#replace(request, { due: due + interval, interval });
    }
    if (tick === undefined) return {};
    const before = this.#tickOf(job);
    const attempt = before !== undefined && this.#isRerun(request) ? before.attempt + 1 : 1;
    this.#replace(request, { tick, attempt, schedule, outcome: undefined });
    const earlier = before?.schedule ?? '';
    return earlier === '' || earlier === schedule ? { attempt } : { attempt, previousSchedule: earlier };
  }

  /** Records the start of a restored lease, unless a newer start of its job is known. */
  restore(lease: LeaseRef): void {
    const { job = '', tick, attempt = 1 } = lease;
    if (tick === undefined) return;
    const last = this.#tickOf(job);
    if (last !== undefined && (last.tick > tick || (last.tick === tick && last.attempt > attempt))) return;
    this.#replace(lease, { tick, attempt, schedule: '', outcome: undefined });
  }

  #tickOf(job: string): (Undo & Tick) | undefined {
    const last = this.#byJob.get(job);
    return last !== undefined && 'tick' in last ? last : undefined;
  }

  #replace({ job = '', token }: Pick<LeaseRef, 'job' | 'token'>, start: Tick | Interval): void {
    const replaced = this.#byJob.get(job);
    this.#byJob.set(job, { ...start, by: token, before: replaced && withoutUndo(replaced) });
  }

  #isRerun({ job = '', tick, rerun = 0 }: AcquireRequest): boolean {
    const last = this.#tickOf(job);
    return last !== undefined && last.tick === tick && last.attempt <= rerun && isInterrupted(last.outcome);
  }

  /** Records how the start of a lease has ended, unless its end is known, or the job was started again since. */
  end({ job = '', token }: LeaseRef, outcome: ReleaseOutcome): void {
    const start = this.#byJob.get(job);
    if (start?.by !== token) return;
    if (outcome !== NOTHING_RAN) {
      const ended = withoutUndo(start);
      this.#byJob.set(job, 'tick' in ended ? { ...ended, outcome } : ended);
    } else if (start.before === undefined) this.#byJob.delete(job);
    else this.#byJob.set(job, start.before);
  }
}

function withoutUndo({ by: _by, before: _before, ...start }: Start): Start {
  return start;
}

/** When a job is due, counted with its present interval: at once (0) if it never started, or its due time is not believed. */
function dueOf(last: Start | undefined, interval: number, now: number): number {
  if (last === undefined || !('due' in last)) return 0;
  const due = last.due - last.interval + interval;
  return due - now > interval * (1 + INTERVAL_ALLOWANCE) ? 0 : due;
}
