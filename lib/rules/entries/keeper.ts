import { type Clock, noLongerThan, type Timer } from '../../base/clock.js';
import type { LockEntries, NewEntry } from './entries.js';
import { partsOf } from './together.js';

/** How long the record of a run waits for others, ms: a second is enough for it and its write, unless the server is overloaded. */
const RECORDS_WAIT = 250;
/** A write without an answer delays later writes, and readers, for so long at most, ms. */
const WRITE_LIMIT = 10_000;
/** The most entries for one write. */
const BATCH_SIZE = 100;
/** How many records wait at most: more than the runs of a process that end at one moment. They take up to 10 MB while nobody answers. */
const MOST_WAITING = 10_000;
/** How many entries of one kind a clean-up deletes at most, and one call. */
const MOST_DROPPED = 1_000;
/** So many kinds of entries of locks are counted: when there are more, counting starts anew. */
const MOST_COUNTED = 10_000;

/**
 * Writes the entries of histories, and now and then deletes the oldest beyond their number: for each instance a tenth too many may stay.
 *
 * Nobody waits for the record of a run, and one that cannot be written is lost. While an answer is awaited, records gather for the next write.
 */
export class HistoryWriter {
  /** By their locks and ids, in the order in which they came. */
  readonly #waiting = new Map<string, NewEntry>();
  /** What waited when it began is being written. */
  #sending: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** How many entries are written before the next clean-up, by lock and kind. */
  readonly #left = new Map<string, number>();

  constructor(
    private readonly entries: LockEntries,
    private readonly clock: Clock,
  ) {}

  /** Writes a record soon. While nobody answers, the oldest are lost. */
  add(record: NewEntry): void {
    const { lock, id, over } = record;
    const key = JSON.stringify([lock, id]);
    // A release that was sent again, or that another one of the same lease has forestalled.
    const known = this.#waiting.get(key);
    if (known !== undefined && over !== 'any' && !over.includes(known.version)) return;
    this.#waiting.delete(key);
    this.#waiting.set(key, record);
    const [oldest = key] = this.#waiting.keys();
    if (this.#waiting.size > MOST_WAITING) this.#waiting.delete(oldest);
    if (this.#sending === undefined) this.#timer ??= this.clock.setTimer(() => this.#begin(), RECORDS_WAIT);
  }

  /** Resolves when all records that were added before are written, or lost, or nobody answers for long. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    // Those that are being written, and those that waited meanwhile: whoever comes now waits for the time after that.
    for (let i = 0; i < 2; i++) await this.#sending;
  }

  /** Writes entries now, and deletes what is too much then. */
  async put(entries: readonly NewEntry[]): Promise<void> {
    await this.entries.put(entries);
    // If it fails, the next time does it.
    await this.#trim(entries).catch(() => undefined);
  }

  /** Sends what waits, and then what has come meanwhile. */
  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending = this.#send().then(() => {
      this.#sending = undefined;
      if (this.#waiting.size > 0) this.#begin();
    });
  }

  async #send(): Promise<void> {
    const all = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const some of partsOf(all, BATCH_SIZE)) {
      // An entry of a history is not worth more tries.
      const write = this.put(some).catch(() => undefined);
      await noLongerThan(WRITE_LIMIT, write, this.clock);
    }
  }

  /** Deletes what is too much, where it is time to. */
  async #trim(written: readonly NewEntry[]): Promise<void> {
    if (this.entries.trims === true) return;
    const due = written.filter((entry) => this.#isDue(entry));
    // Lists that are asked for together share a statement.
    const lists = due.map(({ lock, kind, most: skip = Infinity }) =>
      this.entries.list({ lock, kinds: [kind], newest: true, bare: true, skip, limit: MOST_DROPPED }),
    );
    const beyond = (await Promise.all(lists)).flatMap(({ entries }) => entries);
    for (const some of partsOf(beyond, MOST_DROPPED)) await this.entries.drop(some);
  }

  #isDue({ lock, kind, most }: NewEntry): boolean {
    if (most === undefined) return false;
    if (this.#left.size >= MOST_COUNTED) this.#left.clear();
    const key = JSON.stringify([lock, kind]);
    const left = this.#left.get(key) ?? 0;
    this.#left.set(key, left > 0 ? left - 1 : Math.ceil(most / 10) - 1);
    return left === 0;
  }
}
