import { type Clock, inModuleContext } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { OverdueEvent } from '../contract/events/call-events.js';
import { type HistoryEntry, type HistoryStore, MAX_INSTANCES } from '../contract/history-store.js';
import { given } from '../base/shared.js';
import { isOn, UNLOCKED } from './facts.js';
import { isRefusal } from './read.js';
import type { SeenJob, Skips } from './seen-job.js';
import type { RunInfo } from './types.js';
import type { WatchedJob, Watcher } from './watched-job.js';

/** How long an instance that has noted a miss waits for the reasons of the others, ms. */
const GATHER = 3_000;
/** After what time it tries again if the store did not answer, ms. */
const AGAIN = 10_000;
/** After what time a run that hangs is reported again, ms. */
const REPEAT = 3_600_000;

type Reasons = OverdueEvent['reasons'];

/** A miss that this instance has noted. */
interface Noted {
  readonly job: WatchedJob;
  readonly tick: number;
  /** The reason of this instance. */
  readonly own: Reasons;
}

const kindOf = ({ interval, grace }: WatchedJob, lost: Skips | undefined): { grace?: number; late?: true } =>
  interval !== undefined ? { grace: Number(grace) } : lost ? { late: true } : {};

/**
 * Reports ticks that no instance has started: of all that have noted the miss, the one that marks it first. So each miss is reported once,
 * but for a mark whose answer is lost: it may have been the first, so that miss is reported here as well.
 */
export class Alarms {
  /** When each run that hangs was reported last, monotonic. */
  readonly #hung = new Map<string, number>();
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {}

  /**
   * Has the store keep why this instance did not start a tick, and one instance of the fleet report the miss.
   *
   * @returns the tick that was started, if this one or a newer one was started in this moment
   */
  async missed(state: SeenJob, tick: number, lost?: Skips): Promise<number | undefined> {
    const { job } = state;
    const { instance, kept } = this.watcher;
    const skips = lost ?? state.skips ?? { reason: this.#idleReason(state, tick), count: 1, tick };
    const { tick: _tick, ...why } = skips;
    const about = { name: job.lock, job: job.job, instance, kept, ...why, tick };
    // A store may refuse to keep the miss, for instance because a table lacks a column.
    const result = await this.history.miss({ ...about, ...kindOf(job, lost) }).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
    });
    if (this.#stopped) return undefined;
    const { missed, tick: due = tick } = result ?? { missed: true };
    const ranUnlocked = why.reason === UNLOCKED;
    if (!missed && !ranUnlocked) return due;
    // There may be two at once: of a tick, and of those that an outage has cost.
    const wasNoted = state.noted === tick;
    state.noted = tick;
    if (ranUnlocked || wasNoted) return undefined;
    const noted = { job, tick: due, own: [{ missedBy: instance, ...why }] };
    if (result !== undefined) this.#wait(noted, GATHER);
    // Nobody can know whether another instance reports it, too.
    else this.#tell(noted, noted.own);
    return undefined;
  }

  /** Why the scheduler did not even call the tick here. */
  #idleReason({ job: { shown, grace }, since }: SeenJob, tick: number): string {
    const offset = this.watcher.clockOffset() ?? 0;
    if (!isOn(shown())) return 'disabled';
    if (since + offset > tick) return 'not-up';
    // By this machine's clock, the tick came before the instance had started.
    const isAhead = offset < -(grace || 0);
    return this.watcher.idleReason() ?? (isAhead ? 'clock-skew' : 'not-fired');
  }

  /** Reports a run of here that hangs, unless it was reported within the hour. */
  hung(run: RunInfo): void {
    const { lock, job = lock, instance, fencingToken, startedAt: since, tick } = run;
    const now = this.clock.monotonic();
    // Leases of different locks may have one token.
    const key = `${fencingToken} ${lock}`;
    for (const [told, at] of this.#hung) if (now - at >= REPEAT) this.#hung.delete(told);
    if (this.#hung.has(key)) return;
    this.#hung.set(key, now);
    const facts = { lock, job, instance, at: this.clock.now(), fencingToken, since };
    this.watcher.emit({ type: 'hung', ...facts, ...given({ tick }) });
  }

  /** The instance shuts down: the others report what it has not, or the next one that starts. */
  stop(): void {
    this.#stopped = true;
  }

  #wait(miss: Noted, delay: number): void {
    const due = async (): Promise<void> => {
      if (this.#stopped) return;
      const reasons = await this.#reasonsOf(miss);
      if (await this.#mark(miss)) this.#tell(miss, reasons);
    };
    const tried = (): Promise<void> => due().catch(() => this.#wait(miss, AGAIN));
    this.clock.setTimer(() => void inModuleContext(tried), delay);
  }

  /** Whether nobody has marked the miss before, as far as this instance can know. */
  #mark({ job: { job, lock }, tick }: Noted): Promise<boolean> {
    return this.history.told({ name: lock, job, tick, kept: this.watcher.kept }).catch((error: unknown) => {
      if (error instanceof StoreUnavailableError && error.outcome === 'not-applied') throw error;
      return true;
    });
  }

  /** What instances have noted by now. Notes that cannot be read do not stop the report; a store that does not answer does. */
  async #reasonsOf({ job: { job, lock }, tick, own }: Noted): Promise<Reasons> {
    const entries = await this.history
      .entries({ name: lock, limit: MAX_INSTANCES })
      .catch((error: unknown): HistoryEntry[] => {
        if (error instanceof StoreUnavailableError && !error.refused) throw error;
        return [];
      });
    const all = entries.flatMap((entry) => {
      if (entry.type !== 'miss' || entry.job !== job || entry.tick !== tick) return [];
      const { type: _type, lock: _lock, job: _job, tick: _tick, at: _at, instance, ...reason } = entry;
      return [{ missedBy: instance, ...reason }];
    });
    return all.length === 0 ? own : all;
  }

  #tell({ job: { job, lock }, tick }: Noted, reasons: Reasons): void {
    const { instance, emit } = this.watcher;
    emit({ type: 'overdue', lock, job, instance, at: this.clock.now(), tick, reasons });
  }
}
