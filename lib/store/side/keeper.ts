import type { Clock, Timer } from '../../clock.js';
import type { Kept } from '../../stores/history-store.js';
import type { LockEntries, NewEntry } from '../entries.js';

/** The most entries for one write. */
const AT_ONCE = 100;
/** How many records wait at most. While the database does not answer, the oldest are lost. */
const MOST_WAITING = 1_000;
/** For how many kinds of entries, each of one lock, a clean-up looks at once. */
const TRIMMED = 10;
/** How many entries of one kind a clean-up deletes at most. */
const MOST_DROPPED = 1_000;
/** So many kinds of entries of locks are counted: when there are more, counting starts anew. */
const MOST_COUNTED = 10_000;
/** A write without an answer delays later writes, and readers, for so long at most, ms. */
const PATIENCE = 10_000;
/** How many writes may be without an answer: each may keep a connection, and locks need most of them. */
const MOST_UNANSWERED = 2;

/** An entry, and how many of its kind its lock keeps. */
export interface KeptEntry {
  readonly entry: NewEntry;
  readonly kept: Kept;
}

/** Something that was sent. */
interface UnderWay {
  /** Monotonic. */
  readonly since: number;
  /** Never rejects. */
  readonly over: Promise<void>;
}

/**
 * Writes the entries of histories, and deletes the oldest ones beyond their number now and then: a tenth of that number too many may stay,
 * for each instance.
 *
 * Records of runs go out at once, or after a pause, and while the answer is awaited they gather for the next write: where many jobs end in
 * one second, they cost two or three writes.
 */
export class Keeper {
  readonly #waiting: KeptEntry[] = [];
  /** The records that are being written. */
  #batch: UnderWay | undefined;
  readonly #trims = new Set<UnderWay>();
  /** How many entries were written since the last clean-up, by lock and kind. */
  readonly #counts = new Map<string, number>();

  /** How many batches are without an answer. */
  #unanswered = 0;
  #timer: Timer | undefined;

  /** @param pause how long a record waits for others before the first ones are sent, ms */
  constructor(
    private readonly entries: LockEntries,
    private readonly clock: Clock,
    private readonly pause: number,
  ) {}

  /** Writes a record soon. A record that cannot be written is lost. */
  add(record: KeptEntry): void {
    const { lock, id, over } = record.entry;
    // A release that was sent again, or that another one of the same lease has forestalled.
    const same = this.#waiting.findIndex(({ entry }) => entry.lock === lock && entry.id === id);
    const known = this.#waiting[same]?.entry.version;
    if (known !== undefined && (over === 'any' || !over.includes(known))) return;
    if (known !== undefined) this.#waiting.splice(same, 1);
    this.#waiting.push(record);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    if (!this.#maySend()) return;
    if (this.pause === 0) void this.#send();
    else this.#timer ??= this.clock.setTimer(() => this.#begin(), this.pause);
  }

  /** Resolves when all records that were added before are written, or lost, or nobody answers for long. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    // Those that come meanwhile may follow each other without end.
    const batches = 1 + Math.ceil(this.#waiting.length / AT_ONCE);
    for (let i = 0; i < batches && this.#batch !== undefined && !this.#isStuck(this.#batch); i++)
      await this.#batch.over;
    for (const trim of this.#trims) if (!this.#isStuck(trim)) await trim.over;
  }

  /** Writes entries now. Returns for each whether it was written. */
  async put(all: readonly KeptEntry[]): Promise<boolean[]> {
    const written = await this.entries.put(all.map(({ entry }) => entry));
    // The caller does not wait for this.
    const trim = this.#underWay(this.#trim(all));
    this.#trims.add(trim);
    void trim.over.then(() => this.#trims.delete(trim));
    return written;
  }

  #underWay(over: Promise<void>): UnderWay {
    return { since: this.clock.monotonic(), over };
  }

  #isStuck({ since }: UnderWay): boolean {
    return this.clock.monotonic() - since >= PATIENCE;
  }

  /** Sends what waits, without a pause. */
  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#maySend()) void this.#send();
  }

  #maySend(): boolean {
    return this.#batch === undefined || (this.#isStuck(this.#batch) && this.#unanswered < MOST_UNANSWERED);
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#underWay(this.#write(this.#waiting.splice(0, AT_ONCE)));
      this.#batch = batch;
      await batch.over;
      // A later batch has passed this one.
      if (this.#batch !== batch) return;
    }
    this.#batch = undefined;
  }

  async #write(records: readonly KeptEntry[]): Promise<void> {
    this.#unanswered += 1;
    try {
      await this.entries.put(records.map(({ entry }) => entry));
      await this.#trim(records);
    } catch {
      // An entry of a history is not worth more tries.
    }
    this.#unanswered -= 1;
  }

  /** Deletes what is too much, where it is time to: of a few locks at once, as locks use the same connections. Never rejects. */
  async #trim(written: readonly KeptEntry[]): Promise<void> {
    const due = new Map<string, KeptEntry>();
    for (const one of written) {
      const key = JSON.stringify([one.entry.lock, one.entry.kind]);
      if (this.#isDue(key, one.kept)) due.set(key, one);
    }
    const all = [...due.values()];
    for (let i = 0; i < all.length; i += TRIMMED)
      await this.#trimSome(all.slice(i, i + TRIMMED)).catch(() => undefined);
  }

  #isDue(key: string, { count }: Kept): boolean {
    if (this.#counts.size >= MOST_COUNTED) this.#counts.clear();
    const most = Math.ceil(count / 10);
    const written = (this.#counts.get(key) ?? most) + 1;
    const isDue = written >= most;
    this.#counts.set(key, isDue ? 0 : written);
    return isDue;
  }

  async #trimSome(some: readonly KeptEntry[]): Promise<void> {
    const lists = await Promise.all(
      some.map(({ entry: { lock, kind }, kept: { count } }) =>
        this.entries.list({
          lock,
          kinds: [kind],
          newest: true,
          bare: true,
          skip: count,
          limit: MOST_DROPPED,
        }),
      ),
    );
    const beyond = lists.flatMap(({ entries }) => entries);
    if (beyond.length > 0) await this.entries.drop(beyond);
  }
}
