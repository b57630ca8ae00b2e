import { type Clock, inModuleContext, type Timer } from '../clock.js';
import type { OverdueEvent } from '../events/events.js';
import type { HistoryStore, MissReason } from '../stores/history-store.js';
import type { WatchedJob, Watcher } from './watched-job.js';

/** How long the first instance that notes a miss waits for the reasons of others, ms. */
const GATHER = 3_000;
/** How many misses there may be of one tick: one of each instance. */
const MANY = 1_000;

type Reasons = OverdueEvent['reasons'];

/** Tells the fleet of ticks that nobody has started: on the instance that was the first to note one. */
export class Alarms {
  /** How to tell at once of those that are not told yet. */
  readonly #waiting = new Map<Timer, () => void>();

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {}

  /** Tells of a miss when other instances have noted their reasons. @param own the reason of this instance */
  soon(job: WatchedJob, tick: number, own: MissReason): void {
    const timer = this.clock.setTimer(() => {
      void inModuleContext(() => this.#reasonsOf(job, tick))
        .catch((): Reasons => [])
        // Not twice, if it was stopped meanwhile.
        .then((reasons) => this.#waiting.delete(timer) && this.#tell(job, tick, reasons));
    }, GATHER);
    const { instance } = this.watcher;
    this.#waiting.set(timer, () => this.#tell(job, tick, [{ missedBy: instance, ...own }]));
  }

  /** The instance shuts down: no other one tells of what this one was the first to note. */
  stop(): void {
    for (const [timer, tell] of this.#waiting) {
      timer.cancel();
      tell();
    }
    this.#waiting.clear();
  }

  /** What instances have noted by now. */
  async #reasonsOf({ job, lock }: WatchedJob, tick: number): Promise<Reasons> {
    const entries = await this.history.entries({ name: lock, limit: MANY });
    return entries.flatMap((entry) => {
      if (entry.type !== 'miss' || entry.job !== job || entry.tick !== tick) return [];
      const {
        type: _type,
        lock: _lock,
        job: _job,
        tick: _tick,
        at: _at,
        instance: missedBy,
        ...reason
      } = entry;
      return [{ missedBy, ...reason }];
    });
  }

  #tell({ job, lock }: WatchedJob, tick: number, reasons: Reasons): void {
    const { instance, emit } = this.watcher;
    emit({ type: 'overdue', lock, job, instance, at: this.clock.now(), tick, reasons });
  }
}
