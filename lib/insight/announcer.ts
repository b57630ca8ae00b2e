import type { Clock } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { HistoryStore, Miss, MissReason, MissResult } from '../contract/history-store.js';
import { Alarms } from './alarms.js';
import { given } from '../base/shared.js';
import { isOn, UNLOCKED } from './facts.js';
import type { RunInfo } from './types.js';
import type { Refused, WatchedJob, Watcher } from './watched-job.js';

/** Why an instance did not start the newest ticks of a job. */
export type Skips = MissReason & { readonly tick: number | undefined };

/** What an instance has to report of a job, and what it has reported. */
export interface Announced {
  readonly job: WatchedJob;
  /** From when on its scheduler may fire it, by this machine's clock. */
  readonly since: number;
  skips: Skips | undefined;
  /** The newest tick that this instance lost to an outage and has not reported yet. */
  lost: number | undefined;
  /** The missed tick that was noted last. */
  noted: number | undefined;
  /** When this instance last reported that a run hangs here. */
  toldOfHung: number;
}

/** After what time a run that hangs is reported again, ms. */
export const REPEAT = 3_600_000;

/** Reports to people that a tick was missed, with the reasons of the fleet, and that a run hangs here. */
export class Announcer {
  readonly #alarms: Alarms;
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {
    this.#alarms = new Alarms(history, clock, watcher);
  }

  stop(): void {
    this.#stopped = true;
    this.#alarms.stop();
  }

  /** Reports a run that hangs, if it hangs on this instance. @param now by the store's clock */
  hung(state: Announced, run: RunInfo, now: number): void {
    const { lock, instance, fencingToken, startedAt: since, tick } = run;
    if (instance !== this.watcher.instance || now - state.toldOfHung < REPEAT) return;
    state.toldOfHung = now;
    const facts = { lock, job: state.job.job, instance, at: this.clock.now(), fencingToken, since };
    this.watcher.emit({ type: 'hung', ...facts, ...given({ tick }) });
  }

  /**
   * Has the store keep why this instance did not start a tick, and one instance of the fleet report the miss.
   *
   * @returns the tick that was started, if this one or a newer one was started in this moment
   */
  async missed(state: Announced, tick: number, lost?: Skips): Promise<number | undefined> {
    const { job } = state;
    const { instance, kept } = this.watcher;
    const { interval } = job;
    const { tick: _, ...why } = lost ??
      state.skips ?? { reason: this.#idleReason(state, tick), count: 1, tick };
    const about = { name: job.lock, job: job.job, instance, kept, ...why, tick };
    const which = interval !== undefined ? { grace: job.grace || 0 } : lost ? { late: true } : {};
    const result = await this.#miss({ ...about, ...which });
    if (this.#stopped) return undefined;
    if (why.reason === UNLOCKED) {
      state.noted = tick;
      return undefined;
    }
    if (result === undefined) {
      state.noted = tick;
      this.#alarms.now(job, tick, why);
      return undefined;
    }
    const { missed, tick: due = tick } = result;
    if (!missed) return due;
    state.noted = tick;
    this.#alarms.soon(job, due, why);
    return undefined;
  }

  /** `undefined`: the store refuses to keep the miss, for instance because a table lacks a column. */
  async #miss(miss: Miss): Promise<MissResult | undefined> {
    return this.history.miss(miss).catch((error: unknown) => {
      if (error instanceof StoreUnavailableError && error.refused) return undefined;
      throw error;
    });
  }

  /** Why the scheduler did not even call the tick here. */
  #idleReason({ job: { shown, grace }, since }: Announced, tick: number): string {
    const offset = this.watcher.clockOffset() ?? 0;
    if (!isOn(shown())) return 'disabled';
    if (since + offset > tick) return 'not-up';
    // By this machine's clock, the tick came before the instance had started.
    const isAhead = offset < -(grace || 0);
    return this.watcher.idleReason() ?? (isAhead ? 'clock-skew' : 'not-fired');
  }
}

/** One more tick was skipped. */
export function oneMore(
  before: MissReason | undefined,
  { reason, holder }: Refused,
  now: number,
): MissReason {
  const again = before?.reason === reason && before.until === undefined;
  const [count, since] = again ? [before.count + 1, before.since ?? now] : [1, now];
  return { reason, count, since, ...(holder === undefined ? undefined : { holder }) };
}
