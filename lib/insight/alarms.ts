import { type Clock, inModuleContext, type Timer } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { OverdueEvent } from '../events/call-events.js';
import type { HistoryEntry, HistoryStore, MissReason } from '../stores/history-store.js';
import type { WatchedJob, Watcher } from './watched-job.js';

/** How long the first instance that notes a miss waits for the reasons of others, ms. */
const GATHER = 3_000;
/** How long the others give it to tell, ms: if it has died, one of them does. */
const TRUST = 10_000;
/** After what time a mark is sent again that was not answered, ms: well within the time that others give it. */
const AGAIN = 1_000;
/** How many misses there may be of one tick: one of each instance. */
const MANY = 1_000;

type Reasons = OverdueEvent['reasons'];

/** A miss of which this instance has not told, nor knows that another one has. */
interface Untold {
  readonly job: WatchedJob;
  readonly tick: number;
  /** The reason of this instance. */
  readonly own: Reasons;
  /** When it was noted, monotonic. */
  readonly since: number;
  /** Whether the others leave it to this instance. */
  first: boolean;
  /** Whether the store did not answer when it was asked last. */
  unanswered: boolean;
  /** Whether this instance may have marked it: the answer is missing. */
  marked: boolean;
  timer?: Timer;
}

/**
 * Tells the fleet of ticks that nobody has started.
 *
 * 1. The first instance that has noted a miss asks for the reasons of the others, tells, and then marks the miss as told: again and
 *    again until the store has answered.
 * 2. The others give it some time, and then mark the miss: whoever is the first to mark it tells instead.
 * 3. An instance to which the store did not answer, or that was frozen, is no longer the first. The time that others are given begins
 *    when the store answers.
 *
 * So each miss is told once. More than one instance reports a miss only if the first one dies, or loses the store for seconds, between telling
 * and marking, or if others lose the store in the moment in which they mark it.
 */
export class Alarms {
  readonly #waiting = new Set<Untold>();
  #stopped = false;

  constructor(
    private readonly history: HistoryStore,
    private readonly clock: Clock,
    private readonly watcher: Watcher,
  ) {}

  /** Tells of a miss when other instances have noted their reasons. @param own the reason of this instance @param first to note it */
  soon(job: WatchedJob, tick: number, own: MissReason, first: boolean): void {
    const since = this.clock.monotonic();
    const reasons = [{ missedBy: this.watcher.instance, ...own }];
    const miss = { job, tick, own: reasons, since, first, unanswered: false, marked: false };
    this.#waiting.add(miss);
    this.#wait(miss, first ? GATHER : TRUST);
  }

  /** Tells of a miss that the store does not keep: nobody can know whether another instance tells as well. */
  now(job: WatchedJob, tick: number, own: MissReason): void {
    this.#tell(job, tick, [{ missedBy: this.watcher.instance, ...own }]);
  }

  /** The instance shuts down: it tells of what it was the first to note. */
  stop(): void {
    this.#stopped = true;
    for (const miss of this.#waiting) {
      const { job, tick, own, first, timer } = miss;
      timer?.cancel();
      // Another instance's miss whose mark was sent: the answer to a mark under way decides who reports it. If an answer was lost,
      // the mark may have silenced the others: report it here.
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
    // Not twice, if it was stopped meanwhile.
    if (!this.#waiting.delete(miss)) return;
    this.#tell(job, tick, reasons);
    if (first) this.#markOnce(job, tick);
  }

  /** Whether this instance was the first to mark it, as far as it can know. */
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

  /** What instances have noted by now. What cannot be read keeps nobody from telling; a store that does not answer does. */
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
