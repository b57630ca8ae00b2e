import type { ReleaseOutcome } from '../../../lib/index.js';
import type { AcquireRefusal, AcquireRequest } from '../../../lib/contract/lock-store.js';

/** What may be asked for about the start of a job. */
export type StartFields = Pick<AcquireRequest, 'job' | 'tick' | 'rerun' | 'only' | 'interval'>;

/** When a tick whose run has failed may be tried again. `later`: once time has passed. */
export type Again = 'now' | 'later' | undefined;

/** The last start of a job: of a tick, or of an interval, which is never over as long as the model runs. */
interface Start {
  readonly tick: number | undefined;
  readonly attempt: number;
  readonly outcome: ReleaseOutcome | undefined;
  /** Whether it may be tried once more. */
  readonly again?: Again;
  /** Token of the lease that has begun it, as long as nothing is known of its end. */
  readonly by: string | undefined;
  /** What it has replaced. */
  readonly before?: Start | undefined;
}

/** A lease with what it was asked for by. */
type Run = StartFields & { readonly token: string };

type Refusal = Pick<AcquireRefusal, 'reason' | 'tick' | 'finished'>;

const isFinished = ({ outcome, again }: Start): boolean =>
  again === undefined && outcome !== undefined && outcome !== 'aborted';

const passed = (start: Start): Start => ({
  ...start,
  again: start.again && 'now',
  before: start.before && passed(start.before),
});

/** The simplest model of what a store knows about the jobs under one lock. */
export class StartModel {
  readonly #starts = new Map<string, Start>();

  /** The newest tick of the job, for a refusal. */
  last({ job = '' }: StartFields): Pick<Refusal, 'tick' | 'finished'> {
    const last = this.#starts.get(job);
    return last?.tick === undefined ? {} : { tick: last.tick, finished: isFinished(last) };
  }

  refusal(asked: StartFields): Refusal | undefined {
    const { job = '', tick, only, interval } = asked;
    const last = this.#starts.get(job);
    const known = last?.tick;
    if (tick === undefined) {
      const waits = interval !== undefined && last !== undefined && known === undefined;
      return waits ? { reason: 'already-ran' } : undefined;
    }
    if (this.#isRerun(asked)) return undefined;
    if (known !== undefined && known >= tick) return { reason: 'already-ran', ...this.last(asked) };
    const refused = only === 'interrupted' || (only === 'known' && known === undefined);
    return refused ? { reason: 'already-ran' } : undefined;
  }

  /** Notes a start; answers which run of its tick it is. */
  begin(asked: Run): number | undefined {
    const { job = '', tick, interval } = asked;
    if (tick === undefined && interval === undefined) return undefined;
    const attempt = this.#isRerun(asked) ? (this.#starts.get(job)?.attempt ?? 0) + 1 : 1;
    this.#begin(asked, attempt);
    return tick === undefined ? undefined : attempt;
  }

  /** A lease has ended: the newest one, or one of which nothing ran. */
  end({ job = '', token }: Run, outcome: ReleaseOutcome, again?: Again): void {
    const start = this.#starts.get(job);
    if (start?.by !== token) return;
    if (outcome !== 'abandoned') this.#starts.set(job, { ...start, outcome, again, by: undefined });
    else if (start.before === undefined) this.#starts.delete(job);
    else this.#starts.set(job, { ...start.before, by: undefined });
  }

  /** A store that knows nothing newer learns the start of a lease that it restores; answers whether it does. */
  restore(run: Run & { attempt?: number }): boolean {
    const { job = '', tick, attempt = 1 } = run;
    const { tick: last = -Infinity, attempt: tries = 0 } = this.#starts.get(job) ?? {};
    if (tick === undefined || last > tick || (last === tick && tries > attempt)) return false;
    this.#begin(run, attempt);
    return true;
  }

  /** As much time passes as any wait takes. */
  pass(): void {
    for (const [job, start] of this.#starts) this.#starts.set(job, passed(start));
  }

  forget(): void {
    this.#starts.clear();
  }

  #begin({ job = '', token, tick }: Run, attempt: number): void {
    const before = this.#starts.get(job);
    this.#starts.set(job, { tick, attempt, outcome: undefined, by: token, before });
  }

  #isRerun({ job = '', tick, rerun = 0 }: StartFields): boolean {
    const last = this.#starts.get(job);
    if (last?.tick === undefined || last.tick !== tick) return false;
    return last.again === 'now' || (last.again === undefined && last.attempt <= rerun && !isFinished(last));
  }
}
