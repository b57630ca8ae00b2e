import { type Clock, noLongerThan, type Timer } from '../../base/clock.js';
import type { LockEntries, NewEntry } from './entries.js';
import { partsOf } from './together.js';

/** How long the record of a run waits for others, ms: a second is enough for it and its write, unless the server is overloaded. */
export const RECORDS_WAIT = 250;
/** A write without an answer delays later writes, and readers, for so long at most, ms. */
const WRITE_LIMIT = 10_000;
/** The most entries for one write. */
const BATCH_SIZE = 100;
/** How many records wait at most: more than the runs of a process that end at one moment. They take up to 10 MB while nobody answers. */
const MOST_WAITING = 10_000;
/** For how many kinds of entries, each of one lock, a clean-up looks at once. */
const TRIMMED = 10;
/** How many entries of one kind a clean-up deletes at most. */
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
  /** What is being written. */
  #batch: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** How many entries are written before the next clean-up, by lock and kind. */
  readonly #left = new Map<string, number>();

  /** @param pause how long a record waits for others before the first ones are sent, ms */
  constructor(
    private readonly entries: LockEntries,
    private readonly clock: Clock,
    private readonly pause: number,
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
    if (this.#batch !== undefined) return;
    if (this.pause === 0) this.#begin();
    else this.#timer ??= this.clock.setTimer(() => this.#begin(), this.pause);
  }

  /** Resolves when all records that were added before are written, or lost, or nobody answers for long. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    // Those that come meanwhile may follow each other without end.
    const batches = 1 + Math.ceil(this.#waiting.size / BATCH_SIZE);
    for (let i = 0; i < batches && this.#batch !== undefined; i++) await this.#batch;
  }

  /** Writes entries now. Returns for each whether it was written. */
  async put(all: readonly NewEntry[]): Promise<boolean[]> {
    const written = await this.entries.put(all);
    // The caller does not wait for this.
    void this.#trim(all).catch(() => undefined);
    return written;
  }

  /** Sends what waits, one batch after another. */
  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#batch === undefined) void this.#send();
  }

  async #send(): Promise<void> {
    while (this.#waiting.size > 0) {
      const some = [...this.#waiting].slice(0, BATCH_SIZE);
      for (const [key] of some) this.#waiting.delete(key);
      const write = this.#write(some.map(([, record]) => record));
      await (this.#batch = noLongerThan(WRITE_LIMIT, write, this.clock));
    }
    this.#batch = undefined;
  }

  async #write(records: readonly NewEntry[]): Promise<void> {
    try {
      await this.entries.put(records);
      await this.#trim(records);
    } catch {
      // An entry of a history is not worth more tries.
    }
  }

  /** Deletes what is too much, where it is time to. */
  async #trim(written: readonly NewEntry[]): Promise<void> {
    if (this.entries.trims === true) return;
    const due = written.filter((entry) => this.#isDue(entry));
    for (const some of partsOf(due, TRIMMED)) {
      // Lists that are asked for together share a statement.
      const lists = some.map(({ lock, kind, most: skip = Infinity }) =>
        this.entries.list({ lock, kinds: [kind], newest: true, bare: true, skip, limit: MOST_DROPPED }),
      );
      const beyond = (await Promise.all(lists)).flatMap(({ entries }) => entries);
      if (beyond.length > 0) await this.entries.drop(beyond);
    }
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
