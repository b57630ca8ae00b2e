import type { ManualClock } from '../../../lib/testing/index.js';
import {
  AllEntriesOrNone,
  AsksItsOwnClock,
  BoundsWhatItHasRead,
  CountsAllKinds,
  CountsWhatIsOver,
  CountsWithoutLimit,
  DropsOfAnyLock,
  DropsWhatIsNew,
  FillsSlotsLate,
  FoldsLocks,
  FoldsVersions,
  ForgetsWhen,
  HasNoSlots,
  HasOneAlready,
  KeepsSlots,
  KeepsSlotsOfWhatIsOver,
  KeepsTheOrderOfWrites,
  ListsAnyJob,
  MakesUpEntries,
  MeetsWhatIsOver,
  PlacesByTheTimeOnly,
  PutsAHundred,
  ReplacesAnyEntry,
  SkipsBeforeItSelects,
  TakesNoneOrAVersion,
  TrimsBodies,
  WritesNewOnesLate,
  WritesOverVersionsLate,
} from './broken/entries.js';
import type { ReferenceEntries } from './reference-entries.js';

/** A place of entries that breaks one sentence of the contract. */
export interface BrokenEntries {
  readonly caught: string;
  readonly message: string;
  readonly make: (clock: ManualClock, own: ManualClock) => ReferenceEntries;
}

type Place = new (clock: ManualClock, own: ManualClock) => ReferenceEntries;

const broken = (caught: string, Class: Place, message: string): BrokenEntries => ({
  caught,
  message,
  make: (clock, own) => new Class(clock, own),
});

/** For every case of the contract a place that it is to catch. */
export const brokenEntries: readonly BrokenEntries[] = [
  broken(
    'rule 1: a lock of which nobody has written an entry has none',
    HasOneAlready,
    'a list of a new lock should find "", but found "none"',
  ),
  broken(
    'rule 1: what is read is what was written',
    TrimsBodies,
    "list should find {'kind':'kind 5','version':'v   blanks  ','place':1699999999999995,'body':'  blanks  '}, but found {'kind':'kind 5','version':'v   blanks  ','place':1699999999999995,'body':'blanks'}",
  ),
  broken(
    'rule 1: every lock, and every id of a lock, is kept apart',
    FoldsLocks,
    'the entry one should be written, but the answer is false',
  ),
  broken(
    'rule 2: an entry is read with when it was written, and with when its time is over',
    ForgetsWhen,
    'it should be written between 1767225600000 and 1767225600000, for 3600000 ms, but was at 0, until 1767229200000',
  ),
  broken(
    'rule 2: an entry whose time is over is as good as none, and a new one takes its place',
    MeetsWhatIsOver,
    'an entry over one whose time is over should not be written',
  ),
  broken(
    'rule 2: clocks of instances do not count',
    AsksItsOwnClock,
    'it should be written at about 1767225600000, but was at 1767189600000, until 1767193200000',
  ),
  broken(
    'rule 3: an entry over none is not written where there is one',
    ReplacesAnyEntry,
    'a second entry over none should not be written, but the answer is true',
  ),
  broken(
    'rule 3: an entry over a version is not written where there is none',
    MakesUpEntries,
    'an entry over a version, where there is none, should not be written, but the answer is true',
  ),
  broken(
    'rule 3: an entry is written over a version that it names, and over no other',
    FoldsVersions,
    "an entry over ['V1','v1 ',''] should not be written, but the answer is true",
  ),
  broken(
    'rule 3: an entry over none or a version is written over both, and one over any over whatever there is',
    TakesNoneOrAVersion,
    'the entry one should be written, but the answer is false',
  ),
  broken(
    'rule 3: of many entries over none at once, exactly one is written',
    WritesNewOnesLate,
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 3: of many entries over one version at once, exactly one is written',
    WritesOverVersionsLate,
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 4: each entry of a batch is judged alone, and answered by its index',
    AllEntriesOrNone,
    'the answers should be true, false, true, true, false, but are [false,false,false,false,false]',
  ),
  broken(
    'rule 4: batches of any size are written, and stand in their order: none, or hundreds',
    PutsAHundred,
    '300 should be written, but 100 were',
  ),
  broken(
    'rule 5: entries stand in the order of their places, whenever they were written',
    KeepsTheOrderOfWrites,
    'a list should find "a b c d", but found "c a d b"',
  ),
  broken(
    'rule 5: a list has only entries whose places are smaller than the bound that it is given, if it is given one',
    BoundsWhatItHasRead,
    'a list of the last one before a place should find "b", but found ""',
  ),
  broken(
    'rule 5: entries without a place stand in the order in which one process puts them, by the time',
    PlacesByTheTimeOnly,
    'a list should find "early c a e b d late", but found "early a b c d e late"',
  ),
  broken(
    'rule 5: a list has the entries of the kinds and ids that it asks for, and no others',
    SkipsBeforeItSelects,
    'a list of a kind after the first of it should find "d", but found "b d"',
  ),
  broken(
    'rule 6: what was seen is deleted, and nothing else',
    DropsOfAnyLock,
    'none should be deleted, and then 2, but 0 and 3 were',
  ),
  broken(
    'rule 6: an entry that was written since is not deleted',
    DropsWhatIsNew,
    'one should be deleted, but 2 were',
  ),
  broken(
    'rule 7: an entry is not put into a slot that another one of its lock is in; each lock has its own slots',
    HasNoSlots,
    'a second entry in one slot should not be written, but the answer is true',
  ),
  broken(
    'rule 7: an entry stays in its slot when it is written with it again, and leaves it when it is written without',
    KeepsSlots,
    'the entry b should be written, but the answer is false',
  ),
  broken(
    'rule 7: an entry that is deleted, or whose time is over, is in no slot any more',
    KeepsSlotsOfWhatIsOver,
    'the entry d should be written, but the answer is false',
  ),
  broken(
    'rule 7: of many entries at once that are put into one slot, exactly one is written',
    FillsSlotsLate,
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 5: a list has the entries of the jobs that it asks for; one that is written without its job is for none',
    ListsAnyJob,
    'a list of a job should find "b", but found "a b c d"',
  ),
  broken(
    'rule 8: entries are counted for each lock and kind, with the place of the first one',
    CountsAllKinds,
    "sums of a lock and kind should be ['lock kind 3 3'], but are ['lock kind 3 3','lock second 1 7']",
  ),
  broken(
    'rule 8: the entries of jobs are counted over all locks, so many sums at most',
    CountsWithoutLimit,
    'two sums at most should be two, but are 3',
  ),
  broken(
    'rule 8: an entry whose time is over is not counted',
    CountsWhatIsOver,
    "sums after the time of one was over should be ['lock kind 1 2'], but are ['lock kind 2 1']",
  ),
];
