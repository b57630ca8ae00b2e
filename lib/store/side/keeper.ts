import type { Kept } from '../../stores/history-store.js';
import type { LockEntries, NewEntry } from '../entries.js';

/** The most entries for one write. */
const AT_ONCE = 100;
/** How many records wait at most. While the database does not answer, the oldest are lost. */
const MOST_WAITING = 1_000;
/** How many entries one clean-up deletes at most. */
const MOST_DROPPED = 1_000;
/** So many kinds of entries of locks are counted: when there are more, counting starts anew. */
const MOST_COUNTED = 10_000;

/** An entry, and how many of its kind its lock keeps. */
export interface KeptEntry {
  readonly entry: NewEntry;
  readonly kept: Kept;
}

/**
 * Writes the entries of histories, and deletes the oldest ones beyond their number now and then: a tenth of that number too many may stay.
 *
 * Records of runs go out at once, and while the answer is awaited they gather for the next write: where many jobs end in one second, they
 * cost two or three writes.
 */
export class Keeper {
  readonly #waiting: KeptEntry[] = [];
  #isSending = false;
  /** These resolve when nothing is being written, or deleted. They never reject. */
  #sent: Promise<void> = Promise.resolve();
  #trimmed: Promise<unknown> = Promise.resolve();
  /** How many entries were written since the last clean-up, by lock and kind. */
  readonly #counts = new Map<string, number>();

  constructor(private readonly entries: LockEntries) {}

  /** Writes a record soon. A record that cannot be written is lost. */
  add(record: KeptEntry): void {
    const { lock, id } = record.entry;
    // A release that was sent again.
    if (this.#waiting.some(({ entry }) => entry.lock === lock && entry.id === id)) return;
    this.#waiting.push(record);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    if (!this.#isSending) this.#sent = this.#send();
  }

  /** Resolves when all records that were added are written, or lost. */
  async flush(): Promise<void> {
    await this.#sent;
    await this.#trimmed;
  }

  /** Writes entries now. Returns for each whether it was written. */
  async put(all: readonly KeptEntry[]): Promise<boolean[]> {
    const written = await this.entries.put(all.map(({ entry }) => entry));
    // The caller does not wait for this.
    this.#trimmed = Promise.all([this.#trimmed, this.#trim(all)]);
    return written;
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const sent = this.#waiting.splice(0, AT_ONCE);
      try {
        await this.entries.put(sent.map(({ entry }) => entry));
        await this.#trim(sent);
      } catch {
        // An entry of a history is not worth more tries.
      }
    }
    this.#isSending = false;
  }

  /** Deletes what is too much, where it is time to. Never rejects. */
  async #trim(all: readonly KeptEntry[]): Promise<void> {
    const due = new Map<string, KeptEntry>();
    for (const one of all) {
      const key = JSON.stringify([one.entry.lock, one.entry.kind]);
      if (this.#isDue(key, one.kept)) due.set(key, one);
    }
    await Promise.all([...due.values()].map((one) => this.#trimOne(one).catch(() => undefined)));
  }

  #isDue(key: string, { count }: Kept): boolean {
    if (this.#counts.size >= MOST_COUNTED) this.#counts.clear();
    const most = Math.ceil(count / 10);
    const written = (this.#counts.get(key) ?? most) + 1;
    const isDue = written >= most;
    this.#counts.set(key, isDue ? 0 : written);
    return isDue;
  }

  async #trimOne({ entry: { lock, kind }, kept }: KeptEntry): Promise<void> {
    const beyond = { skip: kept.count, limit: MOST_DROPPED };
    const { entries } = await this.entries.list({ lock, kinds: [kind], newest: true, ...beyond });
    if (entries.length > 0) await this.entries.drop(entries);
  }
}
