import type { Clock } from '../../base/clock.js';
import type {
  EntriesRead,
  Entry,
  EntryQuery,
  EntrySum,
  LockEntries,
  NewEntry,
  SeenEntry,
  SumQuery,
} from '../../rules/entries/entries.js';
import { Moments } from '../../rules/entries/moments.js';
import { Shelf } from './shelf.js';

/** How many locks there have to be before those without entries are forgotten. */
const MANY = 1_000;

/** The entries of locks in the memory of this process. Each call takes effect before it returns its promise. */
export class MemoryEntries implements LockEntries {
  readonly #locks = new Map<string, Shelf>();
  /** Two entries of one microsecond, or after the clock was set back, keep their order. */
  readonly #moments = new Moments();
  /** At how many locks the next clean-up takes place. */
  #full = MANY;

  constructor(private readonly clock: Clock) {}

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    return entries.map((entry) => this.set(entry));
  }

  async list(query: EntryQuery): Promise<EntriesRead> {
    return { now: this.#now(), entries: this.look(query) };
  }

  /** Reads at once. */
  look(query: EntryQuery): readonly Entry[] {
    return this.#young(query.lock)?.list(query) ?? [];
  }

  async sums({ locks, limit = Infinity, after = '', ...which }: SumQuery): Promise<EntrySum[]> {
    const sums: EntrySum[] = [];
    for (const lock of [...new Set(locks ?? this.#locks.keys())].sort()) {
      if (sums.length >= limit) break;
      if (after !== '' && lock <= after) continue;
      sums.push(...sumsOf(lock, this.#young(lock)?.list(which) ?? []));
    }
    return sums.slice(0, limit);
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    return seen.filter((entry) => this.remove(entry)).length;
  }

  /** Whether there are entries of this lock. */
  has(lock: string): boolean {
    return this.#young(lock) !== undefined;
  }

  /** Writes an entry, at once. */
  set({ over, keep, place = this.#moments.at(this.clock.now()), ...entry }: NewEntry): boolean {
    const shelf = this.#young(entry.lock) ?? new Shelf();
    if (!shelf.mayPut(entry, over)) return false;
    if (shelf.size === 0) this.#forget();
    this.#locks.set(entry.lock, shelf);
    const at = this.#now();
    shelf.put({ ...entry, place, at, until: at + keep });
    return true;
  }

  /** Deletes an entry, at once. */
  remove({ lock, id, version }: SeenEntry): boolean {
    const shelf = this.#locks.get(lock);
    const isSeen = shelf?.find(id)?.version === version;
    if (isSeen) shelf.remove(id);
    return isSeen;
  }

  /** The entries of a lock whose time is not over; `undefined`: there are none. */
  #young(lock: string): Shelf | undefined {
    const shelf = this.#locks.get(lock);
    shelf?.forget(this.clock.now());
    if (shelf?.size !== 0) return shelf;
    this.#locks.delete(lock);
    return undefined;
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

/** @param entries of one lock, in their order */
function sumsOf(lock: string, entries: readonly Entry[]): readonly EntrySum[] {
  const sums = new Map<string, { lock: string; kind: string; count: number; place: number }>();
  for (const { kind, place } of entries) {
    const sum = sums.get(kind) ?? { lock, kind, count: 0, place };
    sum.count += 1;
    sums.set(kind, sum);
  }
  return [...sums.values()];
}
