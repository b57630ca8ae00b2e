import type { AcquireRefusal, AcquireRequest, ReleaseOutcome } from '../../../lib/index.js';

/** What may be asked for about the start of a job. */
export type StartFields = Pick<AcquireRequest, 'job' | 'tick' | 'rerun' | 'only' | 'interval'>;

/** The last start of a job: of a tick, or of an interval, which is never over as long as the model runs. */
interface Start {
  readonly tick: number | undefined;
  readonly attempt: number;
  readonly outcome: ReleaseOutcome | undefined;
}

type Refusal = Pick<AcquireRefusal, 'reason' | 'tick' | 'finished'>;

const isFinished = ({ outcome }: Start): boolean => outcome !== undefined && outcome !== 'aborted';

/** The simplest model of what a store knows about the jobs under one lock. */
export class StartModel {
  readonly #starts = new Map<string, Start>();
  /** The start of the newest lease, and what it has replaced. */
  #newest: { readonly job: string; readonly replaced: Start | undefined } | undefined;

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
  begin(asked: StartFields): number | undefined {
    const { job = '', tick, interval } = asked;
    const replaced = this.#starts.get(job);
    if (tick === undefined && interval === undefined) {
      this.#newest = undefined;
      return undefined;
    }
    const attempt = this.#isRerun(asked) ? (replaced?.attempt ?? 0) + 1 : 1;
    this.#newest = { job, replaced };
    this.#starts.set(job, { tick, attempt, outcome: undefined });
    return tick === undefined ? undefined : attempt;
  }

  /** The newest lease has ended. */
  end(outcome: ReleaseOutcome): void {
    if (this.#newest === undefined) return;
    const { job, replaced } = this.#newest;
    this.#newest = undefined;
    const start = this.#starts.get(job);
    if (outcome !== 'abandoned') {
      if (start !== undefined) this.#starts.set(job, { ...start, outcome });
    } else if (replaced === undefined) this.#starts.delete(job);
    else this.#starts.set(job, replaced);
  }

  /** A store that had forgotten everything learns the start of a lease that it restores. */
  restore({ job = '', tick, attempt = 1 }: StartFields & { attempt?: number }): void {
    this.forget();
    if (tick === undefined) return;
    this.#newest = { job, replaced: undefined };
    this.#starts.set(job, { tick, attempt, outcome: undefined });
  }

  forget(): void {
    this.#starts.clear();
    this.#newest = undefined;
  }

  #isRerun({ job = '', tick, rerun = 0 }: StartFields): boolean {
    const last = this.#starts.get(job);
    return last?.tick !== undefined && last.tick === tick && last.attempt <= rerun && !isFinished(last);
  }
}
