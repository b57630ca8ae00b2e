import type {
  EntriesRead,
  Entry,
  EntryQuery,
  LockEntries,
  NewEntry,
  SeenEntry,
} from '../../../lib/store/entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { LockEntriesContractOptions } from '../../../lib/testing/port/port-options.js';

/** The simplest correct place of entries, to be broken. */
export class ReferenceEntries implements LockEntries {
  rows: Entry[] = [];
  newest = 0;

  /** @param own the clock of the instance */
  constructor(
    readonly clock: ManualClock,
    readonly own: ManualClock,
  ) {}

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    return entries.map((entry) => this.putOne(entry));
  }

  async list({ lock, kinds, ids, newest, skip = 0, limit = Infinity }: EntryQuery): Promise<EntriesRead> {
    const found = this.rows
      .filter((row) => this.key(row.lock) === this.key(lock) && this.isThere(row))
      .filter(({ kind, id }) => kinds?.includes(kind) !== false && ids?.includes(id) !== false)
      .sort((a, b) => this.order(a, b));
    if (newest) found.reverse();
    return { now: this.now(), entries: found.slice(skip, skip + limit) };
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    const dropped = this.rows.filter((row) => seen.some((one) => this.isSeen(row, one)));
    this.rows = this.rows.filter((row) => !dropped.includes(row));
    return dropped.length;
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

  find(entry: SeenEntry): Entry | undefined {
    return this.rows.find((row) => this.isSame(row, entry) && this.isThere(row));
  }

  mayReplace(known: Entry | undefined, { over }: NewEntry): boolean {
    return over === 'any' || over.includes(known?.version ?? null);
  }

  putOne(entry: NewEntry): boolean {
    const mayReplace = this.mayReplace(this.find(entry), entry);
    if (mayReplace) this.set(entry);
    return mayReplace;
  }

  set(entry: NewEntry): void {
    this.rows = [...this.rows.filter((row) => !this.isSame(row, entry)), this.row(entry)];
  }

  row({ lock, id, version, kind, keep, body, place = this.newPlace() }: NewEntry): Entry {
    const at = this.now();
    return { lock, id, version, kind, place, at, until: at + keep, body };
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
