import type { ManualClock } from '../../../lib/testing/index.js';
import {
  MakesWhatItIsAskedFor,
  CutsVersions,
  KeepsJson,
  FoldsNames,
  ReadsTwice,
  ReadsAHundred,
  AddsToTheEnd,
  NeverEnds,
  EndsNow,
  AlwaysBegins,
  OwnClock,
  ReplacesAny,
  MakesUp,
  IgnoresVersions,
  FoldsBy,
  IgnoresTaken,
  InsertsLate,
  UpdatesLate,
  AllOrNothing,
  WritesAHundred,
  Deadlocks,
  StopsAtALockedOne,
  LeavesStrangers,
  RenewsAnew,
  RenewsForAnybody,
  RenewsWhatIsOver,
  AnswersTheRenewedFirst,
} from './broken/documents.js';
import type { ReferenceDocuments } from './reference-documents.js';

/** A place that breaks one sentence of the contract. */
export interface BrokenDocuments {
  readonly caught: string;
  readonly message: string;
  readonly make: (clock: ManualClock, own: ManualClock) => ReferenceDocuments;
}

type Place = new (clock: ManualClock, own: ManualClock) => ReferenceDocuments;

const broken = (caught: string, Class: Place, message: string): BrokenDocuments => ({
  caught,
  message,
  make: (clock, own) => new Class(clock, own),
});

/** For every case of the contract a place that it is to catch. */
export const brokenDocuments: readonly BrokenDocuments[] = [
  broken(
    'rule 1: a lock that nobody has written has no document',
    MakesWhatItIsAskedFor,
    "there should be no document, but there is [{'version':'','by':'','state':'','until':0,'since':0,'name':'lock'}]",
  ),
  broken(
    'rule 1: what is read is what was written',
    CutsVersions,
    "read should find {'version':'a version','by':'host/é/one','state':'{\\'a\\':1}'}, but found {'version':'a versio','by':'host/é/one','state':'{\\'a\\':1}'}",
  ),
  broken(
    'rule 1: a state is kept as the text that it is',
    KeepsJson,
    "the state '{\\'a\\':1, \\'b\\' : [1,2]}' should be kept, but is '{\\'a\\':1,\\'b\\':[1,2]}'",
  ),
  broken(
    'rule 1: every name is a lock of its own',
    FoldsNames,
    'a document that is new should be written, but the answer is false',
  ),
  broken(
    'rule 1: a read answers the requested names that exist, each once, and no others',
    ReadsTwice,
    "read should find a and b, but found ['a','a','b']",
  ),
  broken(
    'rule 1: all documents can be read',
    ReadsAHundred,
    'read of all should find 300 documents, each once, but found 100',
  ),
  broken(
    'rule 2: a lock is taken for as long as a change says, from when it is written',
    AddsToTheEnd,
    'a change: it should be taken for at most 7200000 ms, and more than half of that, but it is for 10800000',
  ),
  broken(
    'rule 2: a lock is free when that time has passed',
    NeverEnds,
    "the document of 'lock' should have ended by now",
  ),
  broken(
    'rule 2: an end in the past frees a lock at once, and a change without an end leaves it',
    EndsNow,
    'its end should be 1767229200000 still, but is 1767225600000',
  ),
  broken(
    'rule 2: the beginning of a document is when a change with `begins` was written, and no other change moves it',
    AlwaysBegins,
    'it should have begun at 1767225600000, but began at 1767225600030',
  ),
  broken(
    'rule 2: clocks of instances do not count: a read answers with the times of the database',
    OwnClock,
    "the database's time should be about 1767225600000, but is 1767189600000, and it began at 1767189600000",
  ),
  broken(
    'rule 3: what another program writes is seen by its `by`, and leaves version and state',
    LeavesStrangers,
    "read should find the stranger, our version and our state, but found {'name':'lock','version':'','by':'stranger','state':'','until':1767229200030,'since':1767225600030}",
  ),
  broken(
    'rule 3: a new document is not written where there is one',
    ReplacesAny,
    'a second new document should not be written, but the answer is true',
  ),
  broken(
    'rule 3: a change of a document that does not exist is not written',
    MakesUp,
    "nothing should be written, but the answer is true, and there is [{'name':'lock','version':'<id>','by':'host/one','state':'{}','until':1767229200000,'since':0}]",
  ),
  broken(
    'rule 3: a change is written over the version that was seen, and over no other',
    IgnoresVersions,
    'a change over an older version should not be written, but the answer is true',
  ),
  broken(
    'rule 3: a change is written over the `by` that was seen, exactly, and over no other',
    FoldsBy,
    "a change over 'Host/one' should not be written, but the answer is true",
  ),
  broken(
    "rule 3: whether a lock is taken is judged by the database's clock when a change is written",
    IgnoresTaken,
    'a change of a free lock should not be written, but the answer is true',
  ),
  broken(
    'rule 3: of many new documents for one lock at once, exactly one is written',
    InsertsLate,
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 3: of many changes over one document at once, exactly one is written',
    UpdatesLate,
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 4: each change of a batch is judged alone, and answered by its index',
    AllOrNothing,
    'the answers should be true and false in turn, but are [false,false,false,false,false,false]',
  ),
  broken(
    'rule 4: batches of any size are written: none, or hundreds',
    WritesAHundred,
    '300 should be written, but 100 were',
  ),
  broken(
    'rule 4: changes of the same locks at once, in another order, stop nobody',
    Deadlocks,
    'Deadlock found when trying to get lock',
  ),
  broken(
    'rule 4: a renewal moves the end of a document, and nothing else',
    RenewsAnew,
    "version, state and beginning should stay, but {'name':'lock','version':'<id>','by':'host/one','state':'{\\'a\\':1}','until':1767229200000,'since':1767225600000} became {'version':'renewed','state':'{\\'a\\':1}','since':1767225600000}",
  ),
  broken(
    'rule 4: a document of another `by` is not renewed',
    RenewsForAnybody,
    "it should not be renewed by 'host/two', but the answer is true",
  ),
  broken(
    'rule 4: a document that has ended, or does not exist, is not renewed',
    RenewsWhatIsOver,
    'neither should be renewed, but the answer is [true,false]',
  ),
  broken(
    'rule 4: each renewal of a batch is judged alone, and answered by its index; there may be a thousand',
    AnswersTheRenewedFirst,
    'renewal 3 of 1000 should answer false, but answered true',
  ),
  broken(
    'rule 5: a document that somebody else has locked stops neither a write nor a renewal',
    StopsAtALockedOne,
    'the other one should be renewed, but got [false,false]',
  ),
];
