import { type Clock, inModuleContext, type Timer } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { OverdueEvent } from '../contract/events/call-events.js';
import type { HistoryEntry, HistoryStore, MissReason } from '../contract/history-store.js';
import type { WatchedJob, Watcher } from './watched-job.js';

/** How long an instance that has noted a miss waits for the reasons of the others, ms. */
const GATHER = 3_000;
/** After what time it tries again if the store did not answer, ms. */
const AGAIN = 10_000;
/** How many misses there may be of one tick: one of each instance. */
const MANY = 1_000;

type Reasons = OverdueEvent['reasons'];

/** A miss that this instance has noted. */
interface Noted {
  readonly job: WatchedJob;
  readonly tick: number;
  /** The reason of this instance. */
  readonly own: Reasons;
}

/**
 * Reports ticks that no instance has started: of all that have noted the miss, the one that marks it first. So each miss is reported once,
 * but for a mark whose answer is lost: it may have been the first, so that miss is reported here as well.
 */
export class Alarms {
  readonly #timers = new Set<Timer>();
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {}

  /** Reports a miss when the others have noted their reasons, unless one of them has. @param own this instance's */
  soon(job: WatchedJob, tick: number, own: MissReason): void {
    this.#wait({ job, tick, own: [{ missedBy: this.watcher.instance, ...own }] }, GATHER);
  }

  /** Reports a miss that the store does not keep: nobody can know whether another instance reports it, too. */
  now(job: WatchedJob, tick: number, own: MissReason): void {
    this.#tell(job, tick, [{ missedBy: this.watcher.instance, ...own }]);
  }

  /** The instance shuts down: the others report what it has not, or the next one that starts. */
  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.cancel();
  }

  #wait(miss: Noted, delay: number): void {
    if (this.#stopped) return;
    const due = (): Promise<void> => this.#due(miss).catch(() => this.#wait(miss, AGAIN));
    const timer = this.clock.setTimer(() => {
      this.#timers.delete(timer);
      void inModuleContext(due);
    }, delay);
    this.#timers.add(timer);
  }

  async #due(miss: Noted): Promise<void> {
    const reasons = await this.#reasonsOf(miss);
    if (await this.#mark(miss)) this.#tell(miss.job, miss.tick, reasons);
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
      .entries({ name: lock, limit: MANY })
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

  #tell({ job, lock }: WatchedJob, tick: number, reasons: Reasons): void {
    const { instance, emit } = this.watcher;
    emit({ type: 'overdue', lock, job, instance, at: this.clock.now(), tick, reasons });
  }
}
