import type { LockEntries } from '../../rules/entries/entries.js';
import type { LockDocuments } from '../../contract/port.js';

/** What one case of the contract runs against. */
export interface PortSubject {
  /** A database that is ready for calls, without any document: a namespace of its own is enough. */
  readonly documents: LockDocuments;
  /** These documents once more, as other instances of an application have them. */
  readonly others?: readonly LockDocuments[];
  /** Called after the case, whether it passed or not. */
  close?(): void | Promise<void>;
}

/** How the contract suite of {@link LockDocuments} uses a database. The suite leaves out cases whose hook is missing. */
export interface LockDocumentsContractOptions {
  /** Called once per case. */
  create(): PortSubject | Promise<PortSubject>;
  /** Lets this much time pass on the database's clock: real time for a server, `clock.advance(ms)` on a manual clock. */
  wait(ms: number): Promise<void>;
  /** Shifts this process's wall clock, but not the database's, by this many milliseconds; 0 sets it right again. */
  skewInstanceClock?(ms: number): void | Promise<void>;
  /** Lets another program, which knows nothing of ours, take the lock: only `by`, the end and the beginning change. */
  takeByStranger?(documents: LockDocuments, name: string, by: string, ttl: number): void | Promise<void>;
  /** Lets another program lock the document in the database, if it can. The function that it returns lets go of it. */
  holdDocument?(documents: LockDocuments, name: string): Promise<() => Promise<void>>;
}

/** What one case of the contract of {@link LockEntries} runs against: a namespace of its own, without any entry. */
export interface EntriesSubject {
  readonly entries: LockEntries;
  /** These entries once more, as other instances of an application have them. */
  readonly others?: readonly LockEntries[];
  /** Called after the case, whether it passed or not. */
  close?(): void | Promise<void>;
}

/** How the contract suite of {@link LockEntries} uses a database, as {@link LockDocumentsContractOptions} do. */
export interface LockEntriesContractOptions extends Pick<
  LockDocumentsContractOptions,
  'wait' | 'skewInstanceClock'
> {
  /** Called once per case. */
  create(): EntriesSubject | Promise<EntriesSubject>;
}
