import type { Clock } from '../../clock.js';
import type {
  EntriesRead,
  Entry,
  EntryQuery,
  LockEntries,
  NewEntry,
  SeenEntry,
} from '../../store/entries.js';

/** How many locks there have to be before those without entries are forgotten. */
const MANY = 1_000;

/** The entries of locks in the memory of this process. Each call takes effect before it returns its promise. */
export class MemoryEntries implements LockEntries {
  /** Of each lock its entries by their ids. */
  readonly #locks = new Map<string, Map<string, Entry>>();
  /** The newest place. */
  #newest = 0;
  /** At how many locks the next clean-up takes place. */
  #full = MANY;

  constructor(private readonly clock: Clock) {}

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    return entries.map((entry) => this.#put(entry));
  }

  async list({ lock, kinds, ids, newest, skip = 0, limit = Infinity }: EntryQuery): Promise<EntriesRead> {
    const found = this.#young(lock).filter(
      ({ kind, id }) => kinds?.includes(kind) !== false && ids?.includes(id) !== false,
    );
    const entries = found.toSorted((a, b) => (newest ? b.place - a.place : a.place - b.place));
    return { now: this.#now(), entries: entries.slice(skip, skip + limit) };
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    return seen.filter((entry) => this.#drop(entry)).length;
  }

  /** Whether there are entries of this lock. */
  has(lock: string): boolean {
    return this.#young(lock).length > 0;
  }

  #put({ over, keep, place = this.#newPlace(), ...entry }: NewEntry): boolean {
    const { lock, id } = entry;
    const known = this.#young(lock).find((each) => each.id === id);
    if (over !== 'any' && !over.includes(known?.version ?? null)) return false;
    const at = this.#now();
    if (!this.#locks.has(lock)) this.#forget();
    const entries = this.#locks.get(lock) ?? new Map<string, Entry>();
    this.#locks.set(lock, entries.set(id, { ...entry, place, at, until: at + keep }));
    return true;
  }

  #drop({ lock, id, version }: SeenEntry): boolean {
    const entries = this.#locks.get(lock);
    if (entries?.get(id)?.version !== version) return false;
    entries.delete(id);
    return true;
  }

  /** Two entries in one microsecond, or after the clock was set back, keep their order. */
  #newPlace(): number {
    this.#newest = Math.max(this.#newest + 1, Math.trunc(this.clock.now() * 1_000));
    return this.#newest;
  }

  /** The entries of a lock whose time is not over. */
  #young(lock: string): readonly Entry[] {
    const entries = this.#locks.get(lock);
    const now = this.clock.now();
    for (const { id, until } of entries?.values() ?? []) if (until <= now) entries?.delete(id);
    if (entries?.size === 0) this.#locks.delete(lock);
    return [...(entries?.values() ?? [])];
  }

  /** Forgets what is over whenever there are twice as many locks as after the last time. */
  #forget(): void {
    if (this.#locks.size < this.#full) return;
    for (const lock of this.#locks.keys()) this.#young(lock);
    this.#full = Math.max(MANY, this.#locks.size * 2);
  }

  #now(): number {
    return Math.trunc(this.clock.now());
  }
}
