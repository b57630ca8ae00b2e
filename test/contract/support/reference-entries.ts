import type {
  EntriesRead,
  Entry,
  EntryQuery,
  EntrySum,
  LockEntries,
  NewEntry,
  SeenEntry,
  SumQuery,
} from '../../../lib/rules/entries/entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { LockEntriesContractOptions } from '../../../lib/testing/port/port-options.js';

/** An entry, with what it is found by. */
export type Row = Entry & Pick<NewEntry, 'slot' | 'job'>;

/** The simplest correct place of entries, to be broken. */
export class ReferenceEntries implements LockEntries {
  rows: Row[] = [];
  newest = 0;

  /** @param own the clock of the instance */
  constructor(
    readonly clock: ManualClock,
    readonly own: ManualClock,
  ) {}

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    return entries.map((entry) => this.putOne(entry));
  }

  async list({ lock, newest, skip = 0, limit = Infinity, ...which }: EntryQuery): Promise<EntriesRead> {
    const found = this.select({ ...which, locks: [lock] });
    if (newest) found.reverse();
    return { now: this.now(), entries: found.slice(skip, skip + limit) };
  }

  async sums({ limit = Infinity, ...which }: SumQuery): Promise<EntrySum[]> {
    const sums = new Map<string, EntrySum>();
    for (const { lock, kind, place } of this.select(which)) {
      const key = JSON.stringify([lock, kind]);
      const sum = sums.get(key) ?? { lock, kind, count: 0, place };
      sums.set(key, { ...sum, count: sum.count + 1 });
    }
    return [...sums.values()].slice(0, limit);
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    const dropped = this.rows.filter((row) => seen.some((one) => this.isSeen(row, one)));
    this.rows = this.rows.filter((row) => !dropped.includes(row));
    return dropped.length;
  }

  select({ locks, kinds, ids, slots, jobs, before = Infinity }: Omit<EntryQuery, 'lock'> & SumQuery): Row[] {
    const keys = locks?.map((lock) => this.key(lock));
    return this.rows
      .filter((row) => keys?.includes(this.key(row.lock)) !== false && this.isThere(row))
      .filter(({ place }) => place < before)
      .filter(({ kind, id }) => kinds?.includes(kind) !== false && ids?.includes(id) !== false)
      .filter(({ slot = '', job = '' }) => slots?.includes(slot) !== false && jobs?.includes(job) !== false)
      .sort((a, b) => this.order(a, b));
  }

  now(): number {
    return this.clock.now();
  }

  key(name: string): string {
    return name;
  }

  order(a: Entry, b: Entry): number {
    return a.place - b.place;
  }

  isThere({ until }: Entry): boolean {
    return until > this.now();
  }

  isSame(row: Entry, { lock, id }: Pick<SeenEntry, 'lock' | 'id'>): boolean {
    return this.key(row.lock) === this.key(lock) && row.id === id;
  }

  isSeen(row: Entry, seen: SeenEntry): boolean {
    return this.isSame(row, seen) && row.version === seen.version;
  }

  find(entry: SeenEntry): Row | undefined {
    return this.rows.find((row) => this.isSame(row, entry) && this.isThere(row));
  }

  mayReplace(known: Entry | undefined, { over }: NewEntry): boolean {
    return over === 'any' || over.includes(known?.version ?? null);
  }

  /** Whether the slot of an entry is free, or its own. */
  mayHave({ slot, ...entry }: NewEntry): boolean {
    const isOther = (row: Row): boolean =>
      row.lock === entry.lock && row.id !== entry.id && this.isThere(row);
    return slot === undefined || !this.rows.some((row) => row.slot === slot && isOther(row));
  }

  mayPut(entry: NewEntry): boolean {
    return this.mayReplace(this.find(entry), entry) && this.mayHave(entry);
  }

  putOne(entry: NewEntry): boolean {
    const mayPut = this.mayPut(entry);
    if (mayPut) this.set(entry);
    return mayPut;
  }

  set(entry: NewEntry): void {
    this.rows = [...this.rows.filter((row) => !this.isSame(row, entry)), this.row(entry)];
  }

  row({ over: _over, keep, place = this.newPlace(), ...entry }: NewEntry): Row {
    const at = this.now();
    return { ...entry, place, at, until: at + keep };
  }

  newPlace(): number {
    this.newest = Math.max(this.newest + 1, this.now() * 1_000);
    return this.newest;
  }
}

/** The contract on a place whose clock, and that of its instance, are moved by hand. */
export function referenceEntries(
  make: (clock: ManualClock, own: ManualClock) => ReferenceEntries = (clock, own) =>
    new ReferenceEntries(clock, own),
): LockEntriesContractOptions {
  let place = make(new ManualClock(), new ManualClock());
  return {
    create: () => {
      place = make(new ManualClock(), new ManualClock());
      return { entries: place };
    },
    wait: async (ms) => {
      await place.clock.advance(ms);
      await place.own.advance(ms);
    },
    skewInstanceClock: (ms) => place.own.setWallClock(place.clock.now() + ms),
  };
}
