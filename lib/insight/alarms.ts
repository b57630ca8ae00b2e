import { type Clock, inModuleContext, type Timer } from '../clock.js';
import type { OverdueEvent } from '../events/events.js';
import type { HistoryStore, MissReason } from '../stores/history-store.js';
import type { WatchedJob, Watcher } from './watched-job.js';

/** How long the first instance that notes a miss waits for the reasons of others, ms. */
const GATHER = 3_000;
/** How long the others give it to tell, ms: if it has died, one of them does. */
const TRUST = 10_000;
/** How many misses there may be of one tick: one of each instance. */
const MANY = 1_000;

type Reasons = OverdueEvent['reasons'];

/**
 * Tells the fleet of ticks that nobody has started. The first instance that has noted a miss tells, and then marks it as told. The others
 * look some time later: whoever of them is the first to mark it tells instead. So each miss is told once, and twice at worst.
 */
export class Alarms {
  /** How to tell at once of those that are not told yet. */
  readonly #waiting = new Map<Timer, () => void>();

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {}

  /** Tells of a miss when other instances have noted their reasons. @param own the reason of this instance @param first to note it */
  soon(job: WatchedJob, tick: number, own: MissReason, first: boolean): void {
    const reasons: Reasons = [{ missedBy: this.watcher.instance, ...own }];
    const tell = (): void => {
      this.#tell(job, tick, reasons);
      this.#mark(job, tick).catch(() => undefined);
    };
    const timer = this.clock.setTimer(
      () =>
        void inModuleContext(async () => {
          if (!first && !(await this.#mark(job, tick))) return void this.#waiting.delete(timer);
          const all = await this.#reasonsOf(job, tick).catch((): Reasons => []);
          // Not twice, if it was stopped meanwhile.
          if (this.#waiting.delete(timer)) this.#tell(job, tick, all.length === 0 ? reasons : all);
          if (first) await this.#mark(job, tick);
        }).catch(() => {
          // The store is away: nobody knows whether somebody has told.
          if (this.#waiting.delete(timer)) this.soon(job, tick, own, false);
        }),
      first ? GATHER : TRUST,
    );
    this.#waiting.set(timer, first ? tell : () => undefined);
  }

  /** Tells of a miss that the store does not keep: nobody can know whether another instance tells as well. */
  now(job: WatchedJob, tick: number, own: MissReason): void {
    this.#tell(job, tick, [{ missedBy: this.watcher.instance, ...own }]);
  }

  /** The instance shuts down: it tells of what it was the first to note. */
  stop(): void {
    for (const [timer, tell] of this.#waiting) {
      timer.cancel();
      tell();
    }
    this.#waiting.clear();
  }

  #mark({ job, lock }: WatchedJob, tick: number): Promise<boolean> {
    return this.history.told({ name: lock, job, tick, kept: this.watcher.kept });
  }

  /** What instances have noted by now. */
  async #reasonsOf({ job, lock }: WatchedJob, tick: number): Promise<Reasons> {
    const entries = await this.history.entries({ name: lock, limit: MANY });
    return entries.flatMap((entry) => {
      if (entry.type !== 'miss' || entry.job !== job || entry.tick !== tick) return [];
      const { type: _type, lock: _lock, job: _job, tick: _tick, at: _at, instance, ...reason } = entry;
      return [{ missedBy: instance, ...reason }];
    });
  }

  #tell({ job, lock }: WatchedJob, tick: number, reasons: Reasons): void {
    const { instance, emit } = this.watcher;
    emit({ type: 'overdue', lock, job, instance, at: this.clock.now(), tick, reasons });
  }
}
