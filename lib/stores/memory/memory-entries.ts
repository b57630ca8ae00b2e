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
import { Moments } from '../../rules/entries/lines.js';

/** An entry, with what finds it. */
type Kept = Entry & Pick<NewEntry, 'slot' | 'job'>;

/** The entries of locks in the memory of this process. Each call takes effect before it returns its promise. */
export class MemoryEntries implements LockEntries {
  /** Those of each lock, in the order of their places. */
  readonly #locks = new Map<string, readonly Kept[]>();
  /** Two entries of one microsecond, or after the clock was set back, keep their order. */
  readonly #moments = new Moments();

  constructor(private readonly clock: Clock) {}

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    return entries.map((entry) => this.set(entry));
  }

  async list(query: EntryQuery): Promise<EntriesRead> {
    return { now: this.clock.now(), entries: this.look(query) };
  }

  /** Reads at once. */
  look({ lock, newest, skip = 0, limit = Infinity, ...which }: EntryQuery): readonly Entry[] {
    const found = this.#young(lock).filter((entry) => fits(entry, which));
    return (newest === true ? found.reverse() : found).slice(skip, skip + limit);
  }

  async sums({ locks, ...which }: SumQuery): Promise<EntrySum[]> {
    const all = [...new Set(locks ?? this.#locks.keys())];
    return all.flatMap((lock) => sumsOf(lock, this.look({ lock, ...which })));
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    return seen.filter((entry) => this.remove(entry)).length;
  }

  /** Whether there are entries of this lock. Forgets those whose time is over: asked for old locks, now and then. */
  has(lock: string): boolean {
    const isEmpty = this.#young(lock).length === 0;
    if (isEmpty) this.#locks.delete(lock);
    return !isEmpty;
  }

  /** Writes an entry, at once. */
  set({ over, keep, place = this.#moments.at(this.clock.now()), ...entry }: NewEntry): boolean {
    const { lock, id, slot } = entry;
    const all = this.#young(lock);
    const known = all.find((each) => each.id === id);
    if (over !== 'any' && !over.includes(known?.version ?? null)) return false;
    const others = all.filter((each) => each !== known);
    if (slot !== undefined && others.some((each) => each.slot === slot)) return false;
    const at = this.clock.now();
    const behind = others.findLastIndex((each) => each.place <= place) + 1;
    others.splice(behind, 0, { ...entry, place, at, until: at + keep });
    this.#locks.set(lock, others);
    return true;
  }

  /** Deletes an entry, at once. */
  remove({ lock, id, version }: SeenEntry): boolean {
    const all = this.#locks.get(lock) ?? [];
    const left = all.filter((each) => each.id !== id || each.version !== version);
    if (left.length === 0) this.#locks.delete(lock);
    else this.#locks.set(lock, left);
    return left.length < all.length;
  }

  /** The entries of a lock whose time is not over. */
  #young(lock: string): Kept[] {
    const now = this.clock.now();
    return (this.#locks.get(lock) ?? []).filter(({ until }) => until > now);
  }
}

const fits = (
  { id, kind, slot, job, place }: Kept,
  { ids, kinds, slots, jobs, before = Infinity }: Partial<EntryQuery>,
): boolean =>
  place < before &&
  ids?.includes(id) !== false &&
  kinds?.includes(kind) !== false &&
  (slots === undefined || (slot !== undefined && slots.includes(slot))) &&
  (jobs === undefined || (job !== undefined && jobs.includes(job)));

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
