import type { Clock } from '../../base/clock.js';
import type { Retention } from '../../contract/history-store.js';
import type { LockEntries, NewEntry } from './entries.js';
import { Gatherer, SentWrite } from './gatherer.js';

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

/** An entry, and how many of its kind its lock keeps. */
export interface KeptEntry {
  readonly entry: NewEntry;
  readonly kept: Retention;
}

/**
 * Writes the entries of histories, and deletes the oldest ones beyond their number now and then: a tenth of that number too many may stay,
 * for each instance.
 */
export class HistoryWriter {
  readonly #records: Gatherer<KeptEntry>;
  readonly #trims = new Set<SentWrite>();
  /** How many entries were written since the last clean-up, by lock and kind. */
  readonly #counts = new Map<string, number>();

  /** @param pause how long a record waits for others before the first ones are sent, ms */
  constructor(
    private readonly entries: LockEntries,
    private readonly clock: Clock,
    pause: number,
  ) {
    this.#records = new Gatherer(clock, {
      pause,
      atOnce: BATCH_SIZE,
      most: MOST_WAITING,
      replaces: ({ entry: { over } }, { entry: { version } }) => over === 'any' || over.includes(version),
      write: async (records) => {
        await this.entries.put(records.map(trimmed));
        await this.#trim(records);
      },
    });
  }

  /** Writes a record soon. A record that cannot be written is lost. */
  add(record: KeptEntry): void {
    const { lock, id } = record.entry;
    this.#records.add(JSON.stringify([lock, id]), record);
  }

  /** Resolves when all records that were added before are written, or lost, or nobody answers for long. */
  async flush(): Promise<void> {
    await this.#records.flush();
    for (const trim of this.#trims) if (!trim.isStuck()) await trim.over;
  }

  /** Writes entries now. Returns for each whether it was written. */
  async put(all: readonly KeptEntry[]): Promise<boolean[]> {
    const written = await this.entries.put(all.map(trimmed));
    // The caller does not wait for this.
    const trim = new SentWrite(this.#trim(all), this.clock);
    this.#trims.add(trim);
    void trim.over.then(() => this.#trims.delete(trim));
    return written;
  }

  /** Deletes what is too much, where it is time to: of a few locks at once, as locks use the same connections. Never rejects. */
  async #trim(written: readonly KeptEntry[]): Promise<void> {
    if (this.entries.trims === true) return;
    const due = new Map<string, KeptEntry>();
    for (const one of written) {
      const key = JSON.stringify([one.entry.lock, one.entry.kind]);
      if (this.#isDue(key, one.kept)) due.set(key, one);
    }
    const all = [...due.values()];
    for (let i = 0; i < all.length; i += TRIMMED)
      await this.#trimSome(all.slice(i, i + TRIMMED)).catch(() => undefined);
  }

  #isDue(key: string, { count }: Retention): boolean {
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

const trimmed = ({ entry, kept: { count } }: KeptEntry): NewEntry => ({ ...entry, most: count });
