import type {
  Entry,
  EntryQuery,
  EntrySum,
  LockEntries,
  NewEntry,
  SeenEntry,
  SumQuery,
} from '../../../lib/rules/entries/entries.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { LockEntriesContractOptions } from '../../../lib/testing/port/port-options.js';

/** The memory of this process, which does each thing at once. */
class Place extends MemoryEntries {
  constructor(readonly clockOfPlace: ManualClock) {
    super(clockOfPlace);
  }

  find({ lock, id }: Pick<SeenEntry, 'lock' | 'id'>): Entry | undefined {
    return this.look({ lock, ids: [id] })[0];
  }

  /** Whether another entry is in its slot. */
  isTaken({ lock, id, slot }: NewEntry): boolean {
    return slot !== undefined && this.look({ lock, slots: [slot] }).some((other) => other.id !== id);
  }

  /** Whether it would be written. */
  mayPut(entry: NewEntry): boolean {
    const { over } = entry;
    const fits = over === 'any' || over.includes(this.find(entry)?.version ?? null);
    return fits && !this.isTaken(entry);
  }
}

/** The rules of a place that are replaced. @param place the correct one */
interface Rules {
  /** By the clock of the instance. */
  readonly ownClock?: true;
  set?(entry: NewEntry, place: Place): boolean;
  put?(entries: readonly NewEntry[], place: Place): Promise<boolean[]>;
  look?(query: EntryQuery, place: Place): readonly Entry[];
  sums?(query: SumQuery, place: Place): Promise<EntrySum[]>;
  drop?(seen: readonly SeenEntry[], place: Place): Promise<number>;
}

function entriesOf(place: Place, rules: Rules): LockEntries {
  const { set, put, look, sums, drop } = rules;
  const setOne = (entry: NewEntry) => (set === undefined ? place.set(entry) : set(entry, place));
  return {
    put: async (entries) => (put === undefined ? entries.map(setOne) : put(entries, place)),
    list: async (query) => ({
      now: place.clockOfPlace.now(),
      entries: look === undefined ? place.look(query) : look(query, place),
    }),
    sums: (query) => (sums === undefined ? place.sums(query) : sums(query, place)),
    drop: (seen) => (drop === undefined ? place.drop(seen) : drop(seen, place)),
  };
}

/** The contract on a place whose clock, and that of its instance, are moved by hand. */
export function memoryEntries(
  rules: Rules = {},
  made: (clock: ManualClock) => void = () => undefined,
): LockEntriesContractOptions {
  let [clock, own] = [new ManualClock(), new ManualClock()];
  return {
    create: () => {
      [clock, own] = [new ManualClock(), new ManualClock()];
      made(clock);
      return { entries: entriesOf(new Place(rules.ownClock === true ? own : clock), rules) };
    },
    wait: async (ms) => {
      await clock.advance(ms);
      await own.advance(ms);
    },
    skewInstanceClock: (ms) => own.setWallClock(clock.now() + ms),
  };
}

/** A place of entries that breaks one sentence of the contract. */
interface BrokenEntries {
  readonly caught: string;
  readonly rules: Rules;
  readonly message: string;
}

const broken = (caught: string, rules: Rules, message: string): BrokenEntries => ({ caught, rules, message });

/** Looks, and writes some time after it: some entries. */
const late =
  (isLate: (entry: NewEntry) => boolean): NonNullable<Rules['put']> =>
  async (entries, place) => {
    const may = entries.map((entry) => place.mayPut(entry));
    if (entries.some(isLate)) await new Promise((resolve) => setImmediate(resolve));
    for (const [i, entry] of entries.entries()) if (may[i] === true) force(entry, place);
    return may;
  };

/** Writes whatever is there: without its slot, if another entry is in that. */
function force({ slot, ...entry }: NewEntry, place: Place): boolean {
  const keepsSlot = slot !== undefined && !place.isTaken({ ...entry, slot });
  return place.set({ ...entry, ...(keepsSlot && { slot }), over: 'any' });
}

const FOR_EVER = 1e12;

/** What is over is left out of lists, and stays. */
const keepsWhatIsOver: Rules = {
  set: (entry, place) => place.set({ ...entry, keep: entry.keep + FOR_EVER }),
  look: (query, place) =>
    place.look(query).flatMap((entry) => {
      const until = entry.until - FOR_EVER;
      return until > place.clockOfPlace.now() ? { ...entry, until } : [];
    }),
};

const written: string[] = [];

/** For every case of the contract a place that it is to catch. */
export const brokenEntries: readonly BrokenEntries[] = [
  broken(
    'rule 1: a lock of which nobody has written an entry has none',
    {
      look: (query, place) => {
        const found = place.look(query);
        const none = {
          lock: query.lock,
          id: 'none',
          version: '',
          kind: '',
          place: 0,
          at: 0,
          until: 0,
          body: '',
        };
        return found.length === 0 ? [none] : found;
      },
    },
    'a list of a new lock should find "", but found "none"',
  ),
  broken(
    'rule 1: what is read is what was written',
    { set: (entry, place) => place.set({ ...entry, body: entry.body.trim() }) },
    "list should find {'kind':'kind 5','version':'v   blanks  ','place':1699999999999995,'body':'  blanks  '}, but found {'kind':'kind 5','version':'v   blanks  ','place':1699999999999995,'body':'blanks'}",
  ),
  broken(
    'rule 1: every lock, and every id of a lock, is kept apart',
    { set: (entry, place) => place.set({ ...entry, lock: entry.lock.toLowerCase() }) },
    'the entry one should be written, but the answer is false',
  ),
  broken(
    'rule 2: an entry is read with when it was written, and with when its time is over',
    { look: (query, place) => place.look(query).map((entry) => ({ ...entry, at: 0 })) },
    'it should be written between 1767225600000 and 1767225600000, for 3600000 ms, but was at 0, until 1767229200000',
  ),
  broken(
    'rule 2: an entry whose time is over is as good as none, and a new one takes its place',
    keepsWhatIsOver,
    'an entry over one whose time is over should not be written',
  ),
  broken(
    'rule 2: clocks of instances do not count',
    { ownClock: true },
    'it should be written at about 1767225600000, but was at 1767189600000, until 1767193200000',
  ),
  broken(
    'rule 3: an entry over none is not written where there is one',
    { set: (entry, place) => place.set(entry.over[0] === null ? { ...entry, over: 'any' } : entry) },
    'a second entry over none should not be written, but the answer is true',
  ),
  broken(
    'rule 3: an entry over a version is not written where there is none',
    { set: (entry, place) => place.set(place.find(entry) === undefined ? { ...entry, over: 'any' } : entry) },
    'an entry over a version, where there is none, should not be written, but the answer is true',
  ),
  broken(
    'rule 3: an entry is written over a version that it names, and over no other',
    {
      set: (entry, place) => {
        const fold = (version: string | null) => version?.trim().toLowerCase() ?? null;
        return place.set(entry.over === 'any' ? entry : { ...entry, over: entry.over.map(fold) });
      },
    },
    "an entry over ['V1','v1 ',''] should not be written, but the answer is true",
  ),
  broken(
    'rule 3: an entry over none or a version is written over both, and one over any over whatever there is',
    {
      set: (entry, place) =>
        place.set(entry.over.length === 2 && entry.over[0] === null ? { ...entry, over: [null] } : entry),
    },
    'the entry one should be written, but the answer is false',
  ),
  broken(
    'rule 3: of many entries over none at once, exactly one is written',
    { put: late(({ over, slot }) => over.includes(null as never) && slot === undefined) },
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 3: of many entries over one version at once, exactly one is written',
    { put: late(({ over }) => !over.includes(null as never)) },
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 4: each entry of a batch is judged alone, and answered by its index',
    {
      put: async (entries, place) => {
        const fits = entries.every((entry) => place.mayPut(entry));
        return entries.map((entry) => fits && place.set(entry));
      },
    },
    'the answers should be true, false, true, true, false, but are [false,false,false,false,false]',
  ),
  broken(
    'rule 4: batches of any size are written, and stand in their order: none, or hundreds',
    { put: async (entries, place) => entries.slice(0, 100).map((entry) => place.set(entry)) },
    '300 should be written, but 100 were',
  ),
  broken(
    'rule 5: entries stand in the order of their places, whenever they were written',
    {
      look: (query, place) =>
        place.look(query).toSorted((a, b) => written.indexOf(a.id) - written.indexOf(b.id)),
      set: (entry, place) => (written.push(entry.id), place.set(entry)),
    },
    'a list should find "a b c d", but found "c a d b"',
  ),
  broken(
    'rule 5: a list has only entries whose places are smaller than the bound that it is given, if it is given one',
    {
      look: ({ before = Infinity, ...query }, place) =>
        place.look(query).filter((entry) => entry.place < before),
    },
    'a list of the last one before a place should find "b", but found ""',
  ),
  broken(
    'rule 5: entries without a place stand in the order in which one process puts them, by the time',
    {
      look: (query, place) =>
        place
          .look(query)
          .toSorted(
            (a, b) => Math.trunc(a.place / 1_000) - Math.trunc(b.place / 1_000) || (a.id < b.id ? -1 : 1),
          ),
    },
    'a list should find "early c a e b d late", but found "early a b c d e late"',
  ),
  broken(
    'rule 5: a list has the entries of the kinds and ids that it asks for, and no others',
    {
      look: ({ skip = 0, kinds, ...query }, place) => {
        if (kinds === undefined || skip === 0) return place.look({ ...query, ...(kinds && { kinds }), skip });
        return place.look({ ...query, skip }).filter(({ kind }) => kinds.includes(kind));
      },
    },
    'a list of a kind after the first of it should find "d", but found "b d"',
  ),
  broken(
    'rule 6: what was seen is deleted, and nothing else',
    {
      drop: async (seen, place) => {
        const all = await place.sums({});
        const locks = [...new Set(all.map(({ lock }) => lock))];
        return place.drop(seen.flatMap((one) => locks.map((lock) => ({ ...one, lock }))));
      },
    },
    'none should be deleted, and then 2, but 0 and 3 were',
  ),
  broken(
    'rule 6: an entry that was written since is not deleted',
    {
      drop: (seen, place) =>
        place.drop(seen.map((one) => ({ ...one, version: place.find(one)?.version ?? one.version }))),
    },
    'one should be deleted, but 2 were',
  ),
  broken(
    'rule 7: an entry is not put into a slot that another one of its lock is in; each lock has its own slots',
    { set: ({ slot: _slot, ...entry }, place) => place.set(entry) },
    'a second entry in one slot should not be written, but the answer is true',
  ),
  broken(
    'rule 7: an entry stays in its slot when it is written with it again, and leaves it when it is written without',
    {
      set: (entry, place) => {
        const known: Partial<NewEntry> | undefined = place.find(entry);
        const slot = entry.slot ?? known?.slot;
        return place.set({ ...entry, ...(slot !== undefined && { slot }) });
      },
    },
    'the entry b should be written, but the answer is false',
  ),
  broken(
    'rule 7: an entry that is deleted, or whose time is over, is in no slot any more',
    keepsWhatIsOver,
    'the entry d should be written, but the answer is false',
  ),
  broken(
    'rule 7: of many entries at once that are put into one slot, exactly one is written',
    { put: late(({ slot }) => slot !== undefined) },
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 5: a list has the entries of the jobs that it asks for; one that is written without its job is for none',
    { look: ({ jobs: _jobs, ...query }, place) => place.look(query) },
    'a list of a job should find "b", but found "a b c d"',
  ),
  broken(
    'rule 8: entries are counted for each lock and kind, with the place of the first one',
    { sums: ({ kinds: _kinds, ...query }, place) => place.sums(query) },
    "sums of a lock and kind should be ['lock kind 3 3'], but are ['lock kind 3 3','lock second 1 7']",
  ),
  broken(
    'rule 8: the entries of jobs are counted over all locks',
    { sums: async (query, place) => (await place.sums(query)).slice(0, 1) },
    "sums of a job should be ['x kind 1 0','y kind 1 1','z kind 1 2'], but are ['x kind 1 0']",
  ),
  broken(
    'rule 8: an entry whose time is over is not counted',
    keepsWhatIsOver,
    "sums after the time of one was over should be ['lock kind 1 2'], but are ['lock kind 2 1']",
  ),
];
