import type {
  EntriesRead,
  Entry,
  EntryQuery,
  EntrySum,
  NewEntry,
  SeenEntry,
  SumQuery,
} from '../../../../lib/rules/entries/entries.js';
import { ReferenceEntries, type Row } from '../reference-entries.js';

/* Places of entries that each break one sentence of the contract. */

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class HasOneAlready extends ReferenceEntries {
  override async list(query: EntryQuery): Promise<EntriesRead> {
    const { now, entries } = await super.list(query);
    const none = { lock: query.lock, id: 'none', version: '', kind: '', place: 0, at: 0, until: 0, body: '' };
    return { now, entries: entries.length === 0 ? [none] : entries };
  }
}

export class TrimsBodies extends ReferenceEntries {
  override row(entry: NewEntry): Row {
    return super.row({ ...entry, body: entry.body.trim() });
  }
}

export class FoldsLocks extends ReferenceEntries {
  override key(name: string): string {
    return name.toLowerCase();
  }
}

export class ForgetsWhen extends ReferenceEntries {
  override row(entry: NewEntry): Row {
    return { ...super.row(entry), at: 0 };
  }
}

export class MeetsWhatIsOver extends ReferenceEntries {
  override find(entry: SeenEntry): Row | undefined {
    return this.rows.find((row) => this.isSame(row, entry));
  }
}

export class AsksItsOwnClock extends ReferenceEntries {
  override now(): number {
    return this.own.now();
  }
}

export class KeepsTheOrderOfWrites extends ReferenceEntries {
  override order(): number {
    return 0;
  }
}

export class PlacesByTheTimeOnly extends ReferenceEntries {
  override newPlace(): number {
    return this.now() * 1_000;
  }

  override order(a: Entry, b: Entry): number {
    return a.place - b.place || (a.id < b.id ? -1 : 1);
  }
}

export class BoundsWhatItHasRead extends ReferenceEntries {
  override async list({ before = Infinity, ...query }: EntryQuery): Promise<EntriesRead> {
    const { now, entries } = await super.list(query);
    return { now, entries: entries.filter(({ place }) => place < before) };
  }
}

export class SkipsBeforeItSelects extends ReferenceEntries {
  override async list({ skip = 0, ...query }: EntryQuery): Promise<EntriesRead> {
    const { kinds, ...without } = query;
    if (kinds === undefined || skip === 0) return super.list({ ...query, skip });
    const { now, entries } = await super.list({ ...without, skip });
    return { now, entries: entries.filter(({ kind }) => kinds.includes(kind)) };
  }
}

export class ReplacesAnyEntry extends ReferenceEntries {
  override mayReplace(known: Entry | undefined, entry: NewEntry): boolean {
    return Array.isArray(entry.over) && entry.over[0] === null ? true : super.mayReplace(known, entry);
  }
}

export class MakesUpEntries extends ReferenceEntries {
  override mayReplace(known: Entry | undefined, entry: NewEntry): boolean {
    return known === undefined || super.mayReplace(known, entry);
  }
}

export class FoldsVersions extends ReferenceEntries {
  override mayReplace(known: Entry | undefined, { over }: NewEntry): boolean {
    if (over === 'any') return true;
    return over.some((each) => (each === null ? !known : each.trim().toLowerCase() === known?.version));
  }
}

export class TakesNoneOrAVersion extends ReferenceEntries {
  override mayReplace(known: Entry | undefined, entry: NewEntry): boolean {
    const isEither = entry.over.includes(null as never) && entry.over.length > 1;
    return super.mayReplace(known, isEither ? { ...entry, over: [null] } : entry);
  }
}

/** Looks, and writes some time after it. */
class WritesLate extends ReferenceEntries {
  isLate(_entry: NewEntry): boolean {
    return true;
  }

  override async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    const may = entries.map((entry) => this.mayPut(entry));
    if (entries.some((entry) => this.isLate(entry))) await later();
    for (const [i, entry] of entries.entries()) if (may[i] === true) this.set(entry);
    return may;
  }
}

export class WritesNewOnesLate extends WritesLate {
  override isLate({ over, slot }: NewEntry): boolean {
    return over.includes(null as never) && slot === undefined;
  }
}

export class WritesOverVersionsLate extends WritesLate {
  override isLate({ over }: NewEntry): boolean {
    return !over.includes(null as never);
  }
}

export class AllEntriesOrNone extends ReferenceEntries {
  override async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    const may = entries.every((entry) => this.mayReplace(this.find(entry), entry));
    return may ? super.put(entries) : entries.map(() => false);
  }
}

export class PutsAHundred extends ReferenceEntries {
  override async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    return super.put(entries.slice(0, 100));
  }
}

export class DropsOfAnyLock extends ReferenceEntries {
  override isSeen(row: Entry, { id, version }: SeenEntry): boolean {
    return row.id === id && row.version === version;
  }
}

export class DropsWhatIsNew extends ReferenceEntries {
  override isSeen(row: Entry, seen: SeenEntry): boolean {
    return this.isSame(row, seen);
  }
}

export class ListsAnyJob extends ReferenceEntries {
  override async list({ jobs: _jobs, ...query }: EntryQuery): Promise<EntriesRead> {
    return super.list(query);
  }
}

export class HasNoSlots extends ReferenceEntries {
  override mayHave(): boolean {
    return true;
  }
}

export class KeepsSlots extends ReferenceEntries {
  override row(entry: NewEntry): Row {
    const slot = entry.slot ?? this.find(entry)?.slot;
    return { ...super.row(entry), ...(slot === undefined ? {} : { slot }) };
  }
}

export class KeepsSlotsOfWhatIsOver extends ReferenceEntries {
  override mayHave({ slot, lock, id }: NewEntry): boolean {
    return (
      slot === undefined || !this.rows.some((row) => row.lock === lock && row.slot === slot && row.id !== id)
    );
  }
}

export class FillsSlotsLate extends WritesLate {
  override isLate({ slot }: NewEntry): boolean {
    return slot !== undefined;
  }
}

export class CountsWhatIsOver extends ReferenceEntries {
  override async sums(query: SumQuery): Promise<EntrySum[]> {
    const isThere = this.isThere.bind(this);
    this.isThere = () => true;
    const sums = await super.sums(query);
    this.isThere = isThere;
    return sums;
  }
}

export class CountsAllKinds extends ReferenceEntries {
  override async sums({ kinds: _kinds, ...query }: SumQuery): Promise<EntrySum[]> {
    return super.sums(query);
  }
}

export class CountsWithoutLimit extends ReferenceEntries {
  override async sums({ limit: _limit, ...query }: SumQuery): Promise<EntrySum[]> {
    return super.sums(query);
  }
}
