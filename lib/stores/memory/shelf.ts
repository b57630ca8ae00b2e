import type { Entry, EntryQuery, NewEntry } from '../../rules/entries/entries.js';

/** An entry, with what finds it. */
export type ShelvedEntry = Entry & Pick<NewEntry, 'slot' | 'job'>;

/** The entries of one lock, in the order of their places, with an index of each kind of question. */
export class Shelf {
  readonly #byId = new Map<string, ShelvedEntry>();
  readonly #bySlot = new Map<string, ShelvedEntry>();
  readonly #ordered: ShelvedEntry[] = [];
  /** Before this time no entry's time is over. */
  #firstEnd = Infinity;

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): ShelvedEntry | undefined {
    return this.#byId.get(id);
  }

  /** Whether what is there is what an entry is written over, and its slot is free, or its own. */
  mayPut({ id, slot }: Pick<NewEntry, 'id' | 'slot'>, over: NewEntry['over']): boolean {
    if (over !== 'any' && !over.includes(this.find(id)?.version ?? null)) return false;
    const other = slot === undefined ? undefined : this.#bySlot.get(slot);
    return other === undefined || other.id === id;
  }

  /** Puts an entry in the place of the one with its id. */
  put(entry: ShelvedEntry): void {
    this.remove(entry.id);
    this.#byId.set(entry.id, entry);
    if (entry.slot !== undefined) this.#bySlot.set(entry.slot, entry);
    this.#ordered.splice(this.#indexOf(entry.place, true), 0, entry);
    this.#firstEnd = Math.min(this.#firstEnd, entry.until);
  }

  remove(id: string): void {
    const entry = this.#byId.get(id);
    if (entry === undefined) return;
    this.#byId.delete(id);
    if (entry.slot !== undefined) this.#bySlot.delete(entry.slot);
    this.#ordered.splice(this.#ordered.indexOf(entry, this.#indexOf(entry.place, false)), 1);
  }

  /** Removes what is over. */
  forget(now: number): void {
    if (this.#firstEnd > now) return;
    this.#firstEnd = Infinity;
    for (const { id, until } of this.#ordered.slice()) {
      if (until <= now) this.remove(id);
      else this.#firstEnd = Math.min(this.#firstEnd, until);
    }
  }

  list(query: Omit<EntryQuery, 'lock'>): ShelvedEntry[] {
    const { newest, skip = 0, limit = Infinity } = query;
    const candidates = this.#candidates(query);
    const { length } = candidates;
    const found: ShelvedEntry[] = [];
    if (length <= skip) return found;
    let left = skip;
    for (let i = 0; i < length && found.length < limit; i++) {
      const entry = candidates[newest === true ? length - 1 - i : i];
      if (entry !== undefined && fits(entry, query) && (left -= 1) < 0) found.push(entry);
    }
    return found;
  }

  /** Those that the narrowest question has left, in their order. */
  #candidates({ ids, slots }: Omit<EntryQuery, 'lock'>): readonly ShelvedEntry[] {
    if (ids === undefined && slots === undefined) return this.#ordered;
    const [keys, index] = ids === undefined ? [slots, this.#bySlot] : [ids, this.#byId];
    return [...new Set(keys)].flatMap((key) => index.get(key) ?? []).sort((a, b) => a.place - b.place);
  }

  /** Where the entries with this place begin, or end. */
  #indexOf(place: number, end: boolean): number {
    let [from, to] = [0, this.#ordered.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      const other = this.#ordered[middle]?.place ?? Infinity;
      if (other < place || (end && other === place)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function fits(
  { kind, slot, job, place }: ShelvedEntry,
  { kinds, slots, jobs, before = Infinity }: Omit<EntryQuery, 'lock'>,
): boolean {
  return (
    place < before &&
    kinds?.includes(kind) !== false &&
    (slots === undefined || (slot !== undefined && slots.includes(slot))) &&
    (jobs === undefined || (job !== undefined && jobs.includes(job)))
  );
}
