import { type Clock, inModuleContext, type Timer } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { OverdueEvent } from '../contract/events/call-events.js';
import type { HistoryEntry, HistoryStore, MissReason } from '../contract/history-store.js';
import type { WatchedJob, Watcher } from './watched-job.js';

/** How long the first instance that notes a miss waits for the reasons of others, ms. */
const GATHER = 3_000;
/** How long the others give the first instance to report it, ms: if it has died, one of them does. */
const TRUST = 10_000;
/** After what time an unanswered mark is sent again, ms: well within the time that others give. */
const AGAIN = 1_000;
/** How many misses there may be of one tick: one of each instance. */
const MANY = 1_000;

type Reasons = OverdueEvent['reasons'];

/** A miss that this instance has not reported. It does not know whether another instance has. */
interface Untold {
  readonly job: WatchedJob;
  readonly tick: number;
  /** The reason of this instance. */
  readonly own: Reasons;
  /** When it was noted, monotonic. */
  readonly since: number;
  /** Whether the others leave the report to this instance. */
  first: boolean;
  /** Whether the store did not answer when it was asked last. */
  unanswered: boolean;
  /** Whether this instance may have marked the miss: the answer is missing. */
  marked: boolean;
  timer?: Timer;
}

/**
 * Reports ticks that no instance has started, one instance for the whole fleet.
 *
 * 1. The first instance that has noted a miss asks for the reasons of the others, reports the miss, and then marks it as reported: again
 *    and again until the store has answered.
 * 2. The others give the first one some time, and then mark the miss: the one that marks it first reports it instead.
 * 3. An instance that got no answer from the store, or was frozen, is no longer the first. The time that the others give begins when the
 *    store answers.
 *
 * So each miss is reported once. More than one instance reports a miss only if the first one dies, or loses the store for seconds, between
 * its report and its mark, or if others lose the store in the moment in which they mark the miss.
 */
export class Alarms {
  readonly #waiting = new Set<Untold>();
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {}

  /** Reports a miss when the others have noted their reasons. @param own this instance's @param first whether it was the first to note it */
  soon(job: WatchedJob, tick: number, own: MissReason, first: boolean): void {
    const since = this.clock.monotonic();
    const reasons = [{ missedBy: this.watcher.instance, ...own }];
    const miss = { job, tick, own: reasons, since, first, unanswered: false, marked: false };
    this.#waiting.add(miss);
    this.#wait(miss, first ? GATHER : TRUST);
  }

  /** Reports a miss that the store does not keep: nobody can know whether another instance reports it, too. */
  now(job: WatchedJob, tick: number, own: MissReason): void {
    this.#tell(job, tick, [{ missedBy: this.watcher.instance, ...own }]);
  }

  /** The instance shuts down: it reports the misses that it was the first to note. */
  stop(): void {
    this.#stopped = true;
    for (const miss of this.#waiting) {
      const { job, tick, own, first, timer } = miss;
      timer?.cancel();
      // Another instance was the first to note the miss: the answer to a mark under way decides who reports it. If an answer was
      // lost, that mark may have silenced the others: this instance reports the miss.
      if (!first && !miss.marked) continue;
      this.#waiting.delete(miss);
      this.#tell(job, tick, own);
      this.#mark(job, tick).catch(() => undefined);
    }
  }

  #wait(miss: Untold, delay: number): void {
    if (this.#stopped) return;
    const due = (): Promise<void> =>
      this.#due(miss).catch(() => {
        miss.first = false;
        miss.unanswered = true;
        this.#wait(miss, TRUST);
      });
    miss.timer = this.clock.setTimer(() => void inModuleContext(due), delay);
  }

  async #due(miss: Untold): Promise<void> {
    const { job, tick } = miss;
    const reasons = await this.#reasonsOf(miss);
    if (miss.unanswered) {
      miss.unanswered = false;
      return this.#wait(miss, TRUST);
    }
    if (this.clock.monotonic() - miss.since > TRUST - GATHER) miss.first = false;
    const { first } = miss;
    if (!first && !(await this.#isMine(miss))) return void this.#waiting.delete(miss);
    // `stop()` may have reported it meanwhile.
    if (!this.#waiting.delete(miss)) return;
    this.#tell(job, tick, reasons);
    if (first) this.#markOnce(job, tick);
  }

  /** Whether this instance was the first to mark the miss, as far as it can know. */
  async #isMine(miss: Untold): Promise<boolean> {
    const mark = this.#mark(miss.job, miss.tick);
    return mark.then(
      (isFirst) => isFirst || miss.marked,
      (error: unknown) => {
        miss.marked ||= !(error instanceof StoreUnavailableError && error.outcome === 'not-applied');
        throw error;
      },
    );
  }

  #markOnce(job: WatchedJob, tick: number): void {
    const again = (): void => {
      if (!this.#stopped) this.clock.setTimer(() => inModuleContext(() => this.#markOnce(job, tick)), AGAIN);
    };
    this.#mark(job, tick).catch(again);
  }

  #mark({ job, lock }: WatchedJob, tick: number): Promise<boolean> {
    return this.history.told({ name: lock, job, tick, kept: this.watcher.kept });
  }

  /** What instances have noted by now. Notes that cannot be read do not stop the report; a store that does not answer does. */
  async #reasonsOf({ job: { job, lock }, tick, own }: Untold): Promise<Reasons> {
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
