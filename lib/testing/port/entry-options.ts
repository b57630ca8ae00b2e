import type { LockEntries } from '../../store/entries.js';

/** What one case of the contract of {@link LockEntries} runs against. */
export interface EntriesSubject {
  /** A database that is ready for calls, without any entry: a namespace of its own is enough. */
  readonly entries: LockEntries;
  /** The same entries once more, as other instances of an application have them. */
  readonly others?: readonly LockEntries[];
  /** Called after the case, whether it passed or not. */
  close?(): void | Promise<void>;
}

/** How the contract suite of {@link LockEntries} uses a database. The suite leaves out cases whose hook is missing. */
export interface LockEntriesContractOptions {
  /** Called once per case. */
  create(): EntriesSubject | Promise<EntriesSubject>;
  /** Lets this much time pass on the database's clock: real time for a server, `clock.advance(ms)` on a manual clock. */
  wait(ms: number): Promise<void>;
  /** Shifts this process's wall clock, but not the database's, by this many milliseconds; 0 sets it right again. */
  skewInstanceClock?(ms: number): void | Promise<void>;
}
