import type { MissResult, RunEntry } from '../../../lib/contract/history-store.js';
import type { ReleaseOutcome } from '../../../lib/index.js';
import { StartModel } from './start-model.js';

/** How many entries of each sort are kept, and for how long, ms. */
export const KEPT = { count: 3, age: 26 * 3_600_000 };

/** A lease, with what its run is told by. */
export interface ModelRun {
  readonly token: string;
  readonly job: string;
  readonly tick: number | undefined;
  readonly attempt: number | undefined;
  readonly fencingToken: number;
  readonly holder: string;
}

/** An entry, as it has to be told, but for its time. */
interface ModelEntry {
  /** The same for two that tell of the same. */
  readonly id: string;
  /** What it is about: the outcome of a run, or a miss. */
  readonly what: RunEntry['outcome'] | 'miss';
  readonly facts: object;
  /** When it was kept, by the model's clock. */
  readonly time: number;
  /** Whether it was one too many once. */
  readonly hasLapsed?: true;
}

/** What `miss` is asked. */
export interface ModelMiss {
  readonly job: string;
  readonly tick: number;
  readonly instance: string;
  readonly late: boolean;
  readonly facts: object;
}

/** What rules 16 and 17 say of one lock. Where the number or the age of entries lets a store forget, the answer is `undefined`. */
export class HistoryModel {
  /** Milliseconds by which what is remembered was made older. */
  now = 0;
  readonly starts = new StartModel();
  /** The newest first. */
  entries: readonly ModelEntry[] = [];
  /** The newest lease; whether it is recorded as ended; how it has the lock. */
  #last: ModelRun | undefined;
  #ended = false;
  #has: 'live' | 'kept' | undefined;
  #aged = 0;
  /** The newest tick of each job of which people were told, and when that was noted. */
  readonly #told = new Map<string, { tick: number; time: number }>();

  get isTaken(): boolean {
    return this.#has !== undefined;
  }

  /** The lease before, if it has ended by itself. `undefined` if a store may have forgotten the lock: after a day. */
  get interrupted(): ModelRun | null | undefined {
    if (this.now - this.#aged > 86_400_000 / 2) return undefined;
    return this.#last === undefined || this.#ended ? null : this.#last;
  }

  begin(run: ModelRun): void {
    this.#last = run;
    this.#ended = false;
    this.#has = 'live';
    this.#aged = this.now;
  }

  /** The lock is free by itself. Returns whether it was taken. */
  expire(): boolean {
    const wasTaken = this.isTaken;
    this.#has = undefined;
    return wasTaken;
  }

  isLive(run: ModelRun): boolean {
    return run === this.#last && this.#has === 'live';
  }

  /** Returns whether the lease was live. @param keeps whether the lock stays taken @param again whether its tick may be tried again */
  release(
    run: ModelRun,
    { outcome, record }: { readonly outcome: ReleaseOutcome; readonly record: object | undefined },
    keeps: boolean,
    again: boolean,
  ): boolean {
    const wasLive = this.isLive(run);
    if (run === this.#last || outcome === 'abandoned')
      this.starts.end(startOf(run), outcome, again ? 'now' : undefined);
    if (run === this.#last) this.#ended = true;
    if (wasLive) this.#has = keeps ? 'kept' : undefined;
    const known = this.#find(idOf(run));
    if (record === undefined || outcome === 'abandoned') return wasLive;
    if (known !== undefined && known.what !== 'interrupted') return wasLive;
    this.#keep({ id: idOf(run), what: outcome, facts: { ...factsOf(run), outcome, ...record } });
    return wasLive;
  }

  interrupt(run: ModelRun): void {
    if (this.#find(idOf(run)) !== undefined) return;
    this.#keep({ id: idOf(run), what: 'interrupted', facts: { ...factsOf(run), outcome: 'interrupted' } });
  }

  /** What has to be answered. */
  miss({ job, tick, instance, late, facts }: ModelMiss): Partial<MissResult> {
    const last = this.starts.last({ job }).tick ?? -Infinity;
    const goesOn = this.#has === 'live' && this.#last?.job === job;
    const id = `miss ${job} ${tick} ${instance}`;
    const entry = { id, what: 'miss', facts: { type: 'miss', job, tick, instance, ...facts } } as const;
    if (last >= tick || goesOn) {
      if (late && last > tick && this.#find(id) === undefined) this.#keep(entry);
      return { missed: false };
    }
    if (this.#find(id) === undefined) this.#keep(entry);
    return { missed: true };
  }

  /** Whether nobody was told of the tick, or a newer one; `undefined`: nobody can know. */
  tell(job: string, tick: number): boolean | undefined {
    const known = this.#told.get(job);
    if (known !== undefined && known.tick >= tick) return this.#isOld(known) ? undefined : false;
    this.#told.set(job, { tick, time: this.now });
    return true;
  }

  /** Whether it must be told: it is neither too old nor one too many. */
  isSure(entry: ModelEntry): boolean {
    const alike = this.entries.filter(({ what }) => isGood(what) === isGood(entry.what));
    return !entry.hasLapsed && alike.indexOf(entry) < KEPT.count && !this.#isOld(entry);
  }

  /** Whether it may be told: it is not too old. */
  isPossible(entry: ModelEntry): boolean {
    return !this.#isOld(entry);
  }

  /** Whether there was such an entry, and it may go before one that tells of the same, or is gone. */
  isUnsure(id: string): boolean {
    const entry = this.#find(id);
    return entry !== undefined && (entry.time !== this.now || !this.isSure(entry));
  }

  #isOld({ time }: { readonly time: number }): boolean {
    return this.now - time >= KEPT.age;
  }

  #find(id: string): ModelEntry | undefined {
    return this.entries.find((entry) => entry.id === id);
  }

  #keep(entry: Omit<ModelEntry, 'time'>): void {
    const others = this.entries.filter(({ id }) => id !== entry.id);
    this.entries = [{ ...entry, time: this.now }, ...others];
    this.entries = this.entries.map((each) => (this.isSure(each) ? each : { ...each, hasLapsed: true }));
  }
}

const isGood = (what: ModelEntry['what']): boolean => what === 'completed';

export const idOf = ({ fencingToken }: Pick<ModelRun, 'fencingToken'>): string => `run ${fencingToken}`;

export const startOf = ({ token, job, tick }: ModelRun) => ({
  token,
  job,
  ...(tick !== undefined && { tick }),
});

const factsOf = ({ job, tick, attempt, fencingToken, holder }: ModelRun) => ({
  type: 'run',
  job,
  fencingToken,
  instance: holder,
  ...(tick !== undefined && { tick, attempt }),
});
