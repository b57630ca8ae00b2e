import type {
  HistoryEntry,
  HistoryQuery,
  Interruption,
  RunRecord,
} from '../../../../lib/contract/history-store.js';
import type { LockInfo, ReleaseOutcome } from '../../../../lib/index.js';
import type { AcquireRequest } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import type { ManualClock } from '../../../../lib/testing/index.js';
import { ReferenceQueuedCalls } from '../reference-queued-calls.js';
import { LateReferenceHistory, ReferenceHistory } from '../reference-history.js';
import { ReferenceStore, type StateEntry } from '../reference-store.js';
import type { BrokenStore } from './broken-store.js';

class HidesErrors extends ReferenceHistory {
  override ended(lease: LeaseRef, outcome: ReleaseOutcome, record: RunRecord | undefined): void {
    const { error: _error, ...facts } = record ?? {};
    super.ended(lease, outcome, record && (facts as RunRecord));
  }
}

/** As columns of a table are. */
class TellsNulls extends ReferenceHistory {
  override async entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    const none = { tick: null, attempt: null, error: null };
    return (await super.entries(query)).map((entry) => ({ ...none, ...entry }) as HistoryEntry);
  }
}

class KeepsEachRelease extends ReferenceHistory {
  protected override runOf(): undefined {
    return undefined;
  }
}

/** A record goes with what the release changes, and that is nothing. */
class KeepsLiveRunsOnly extends ReferenceHistory {
  override ended(lease: LeaseRef, outcome: ReleaseOutcome, record: RunRecord | undefined): void {
    if (this.store.lock(lease.name)?.token === lease.token) super.ended(lease, outcome, record);
  }
}

/** Says so too early. */
class FlushesNothing extends LateReferenceHistory {
  override async flush(): Promise<void> {}
}

class CountsWhatDidNotRun extends ReferenceHistory {
  protected override isRun(): boolean {
    return true;
  }
}

class KeepsEveryRelease extends ReferenceHistory {
  override ended(lease: LeaseRef, outcome: ReleaseOutcome, record: RunRecord | undefined): void {
    super.ended(lease, outcome, record ?? { kept: { count: 100, age: 1_000_000 }, duration: 0 });
  }
}

class TellsNothing extends ReferenceHistory {
  protected override tells(): boolean {
    return false;
  }
}

class TellsOfEveryLease extends ReferenceHistory {
  protected override endedByItself(): boolean {
    return true;
  }
}

class TellsUnasked extends ReferenceHistory {
  protected override tells(): boolean {
    return true;
  }
}

class KeepsInterruptionsTwice extends ReferenceHistory {
  protected override isKnown(): boolean {
    return false;
  }
}

class InterruptionsWin extends ReferenceHistory {
  override async interrupted(run: Interruption): Promise<void> {
    this.log = this.log.filter((entry) => entry !== this.runOf(run));
    await super.interrupted(run);
  }
}

class FirstWordCounts extends ReferenceHistory {
  protected override givesWay(): boolean {
    return false;
  }
}

/** Whoever writes last counts, as where records wait for others. */
class LastWordCounts extends ReferenceHistory {
  protected override givesWay(): boolean {
    return true;
  }
}

class KeepsAll extends ReferenceHistory {
  protected override tooMany(): readonly HistoryEntry[] {
    return [];
  }
}

class OneBoundForAll extends ReferenceHistory {
  protected override kindOf(): string {
    return 'any';
  }
}

class OldestFirst extends ReferenceHistory {
  override async entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    return (await super.entries(query)).reverse();
  }
}

/** As a collation of a database can. */
class FoldsNames extends ReferenceHistory {
  protected override isOf({ lock }: HistoryEntry, name: string): boolean {
    return lock.toLowerCase() === name.toLowerCase();
  }
}

/** `release` keeps records, `next` does not. */
class ForgetsItsRuns extends ReferenceQueuedCalls {
  override next(
    ...[lease, { record: _record, ...options }]: Parameters<ReferenceQueuedCalls['next']>
  ): ReturnType<ReferenceQueuedCalls['next']> {
    return super.next(lease, options);
  }
}

class TellsOfTheFirstGrant extends ReferenceHistory {
  override before(request: AcquireRequest): ReturnType<ReferenceHistory['before']> {
    const before = super.before(request);
    return before && { ...before, fencingToken: before.fencingToken - 1 };
  }
}

class ShowsFreeLocksAlike extends ReferenceStore {
  protected override infoOf(name: string, state: StateEntry): LockInfo {
    const { interrupted: _interrupted, ...rest } = super.infoOf(name, state);
    return rest;
  }
}

type HistoryClass = new (store: ReferenceStore) => ReferenceHistory;

const withHistory = (History: HistoryClass) => (clock: ManualClock) => {
  const store = new ReferenceStore(clock);
  store.history = new History(store);
  return store;
};

const broken = (sentence: string, message: string, History: HistoryClass): BrokenStore => ({
  caught: sentence,
  message,
  make: withHistory(History),
});

export const brokenHistories: readonly BrokenStore[] = [
  broken(
    'a release keeps who ran what, when, for how long, and how it ended',
    "entries should answer {'lock':'lock','instance':'<holder>','job':'job','tick':1760000000000,'attempt':1,'outcome':'failed','duration':1234,'error':'no route to host','traceId':'<id>'}, but answered {'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'tick':1760000000000,'attempt':1,'instance':'<holder>','outcome':'failed','at':1767225600000,'duration':1234,'traceId':'<id>'}",
    HidesErrors,
  ),
  broken(
    'fields that a run does not have are absent from its entry',
    "entries should answer {'duration':0}, but answered {'tick':null,'attempt':null,'error':null,'type':'run','lock':'lock','fencingToken':1767225600000000,'instance':'<holder>','outcome':'completed','at':1767225600000,'duration':0}",
    TellsNulls,
  ),
  broken(
    'a release that is sent again keeps no second record, even if another lease had the lock since',
    "the run should be listed once, but got [{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'failed','at':1767225600000,'duration':5},{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'failed','at':1767225600000,'duration':5},{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'failed','at':1767225600000,'duration':5},{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'failed','at':1767225600000,'duration':5}]",
    KeepsEachRelease,
  ),
  broken(
    'of two records of a run, that of the release which ended the lease counts',
    "entries after two releases of a lease should answer {'outcome':'completed'}, but answered {'outcome':'aborted','actor':'ann'}",
    LastWordCounts,
  ),
  broken(
    'a run whose lease was lost keeps its record, which does not change the answer of its release',
    'the run whose lease was lost should be listed by now',
    KeepsLiveRunsOnly,
  ),
  broken(
    'no record waits once the store has flushed',
    'another instance should find the run, but got []',
    FlushesNothing,
  ),
  broken(
    'nothing is kept of an abandoned lease',
    "an abandoned lease should not be listed, but got [{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000001,'instance':'<holder>','outcome':'completed','at':1767225600000,'duration':5},{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'abandoned','at':1767225600000,'duration':5}]",
    CountsWhatDidNotRun,
  ),
  broken(
    'nothing is kept of a release without a record',
    "a release without a record should not be listed, but got [{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000001,'instance':'<holder>','outcome':'completed','at':1767225600000,'duration':5},{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'failed','at':1767225600000,'duration':0}]",
    KeepsEveryRelease,
  ),
  broken(
    'a grant names the lease before it, if that one has ended by itself',
    "a grant after an interrupted run should answer {'fencingToken':1767225600000000,'holder':'<holder>','job':'job','tick':1760000000000,'attempt':1}, but answered {}",
    TellsNothing,
  ),
  broken(
    'a grant names no lease that was released',
    "a grant after a release should name no lease, but names {'fencingToken':1767225600000000,'holder':'<holder>','job':'job'}",
    TellsOfEveryLease,
  ),
  broken(
    'a grant names no lease unless the request asks for it',
    "a grant should name no lease unasked, but names {'fencingToken':1767225600000000,'holder':'<holder>','job':'job'}",
    TellsUnasked,
  ),
  broken(
    'an interruption is kept once',
    "the run that was interrupted should be listed once, but got [{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'interrupted','at':1767225600040},{'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'interrupted','at':1767225600040}]",
    KeepsInterruptionsTwice,
  ),
  broken(
    'an interruption never takes the place of the end of the run',
    "entries after an interruption of that run should answer {'outcome':'completed','duration':5}, but answered {'type':'run','lock':'lock','job':'job','fencingToken':1767225600000000,'instance':'<holder>','outcome':'interrupted','at':1767225600020}",
    InterruptionsWin,
  ),
  broken(
    'the end of a run takes the place of its interruption',
    'the end of a run that counted as interrupted should be listed by now',
    FirstWordCounts,
  ),
  broken(
    'old runs give way to new ones',
    'of 300 runs the oldest should not be kept any more: the count is 2',
    KeepsAll,
  ),
  broken(
    'runs that completed do not push out those that went wrong',
    'the 2 runs that went wrong should be listed still, but got []',
    OneBoundForAll,
  ),
  broken(
    'the newest entries come first, with no more runs and misses than asked for',
    "the last two runs and misses should be listed, the newest first, but got ['missed 1',1,'missed 2',2]",
    OldestFirst,
  ),
  broken(
    'the entries of each lock stay apart, and keep every text as it was',
    "the run of 'na' should be listed once, but got [{'type':'run','lock':'nA','job':'it’s \\'100%\\' \\\\ 'é'\\n$1 🔒 %s','fencingToken':1767225600000000,'instance':'it’s \\'100%\\' \\\\ 'é'\\n$1 🔒 %s','outcome':'failed','at':1767225600000,'duration':5,'error':'it’s \\'100%\\' \\\\ 'é'\\n$1 🔒 %snA'},{'type':'run','lock':'na','job':'it’s \\'100%\\' \\\\ 'é'\\n$1 🔒 %s','fencingToken':1767225600000000,'instance':'it’s \\'100%\\' \\\\ 'é'\\n$1 🔒 %s','outcome':'failed','at':1767225600000,'duration':5,'error':'it’s \\'100%\\' \\\\ 'é'\\n$1 🔒 %sna'}]",
    FoldsNames,
  ),
  broken(
    'a grant names the run of a queued call that was interrupted',
    "a grant after an interrupted queued call should answer {'fencingToken':1767225600000001}, but answered {'fencingToken':1767225600000000,'holder':'<holder>','job':'job'}",
    TellsOfTheFirstGrant,
  ),
  {
    caught: '`next` keeps how the run has ended, with its fencing token',
    message: 'the run of the first queued call should be listed by now',
    make: (clock) => {
      const store = new ReferenceStore(clock);
      store.queuedCalls = new ForgetsItsRuns(store);
      return store;
    },
  },
  {
    caught: 'inspect shows whose the newest lease was, and whether it has ended by itself',
    message:
      "inspect of a lock whose lease ran out should answer {'job':'job','interrupted':true}, but answered {'name':'lock','time':1767225600040,'holder':'<holder>','since':1767225600000,'fencingToken':1767225600000000,'job':'job','jobs':[{'job':'job','tick':1760000000000,'attempt':1}],'state':'free'}",
    make: (clock) => new ShowsFreeLocksAlike(clock),
  },
];
