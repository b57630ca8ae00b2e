import type { SchedulerLockError } from '../base/errors.js';

/**
 * What a database, or whatever else keeps documents, must be able to do to keep locks. The rules are in {@link DocumentLockStore}, which
 * makes a `LockStore` of it. A contract suite of its own checks each sentence here.
 *
 * 1. A lock is one document, found by its name. Names are kept apart exactly.
 * 2. All times are of the database's clock, epoch milliseconds, and no other clock has a say.
 * 3. `write` compares and sets in one operation: of any number of changes over one and the same document, exactly one is written.
 * 4. Each change, and each renewal, is judged alone, and answered by its index. One that cannot be made stops no other.
 * 5. Nothing waits for long for a document that somebody else has locked: it counts as changed.
 *
 * Other programs may write into the database, too, and know nothing of `version` and `state`: these stay as they are then. So `by` is
 * compared as well, and whether the lock is taken: one of them may have come and gone twice meanwhile, which changes no decision.
 *
 * A call that fails rejects with `StoreUnavailableError`, as those of a `LockStore` do: with `outcome: 'not-applied'` if it was
 * certainly not carried out.
 */
export interface LockDocuments {
  /** Why the database cannot keep the name of a lock, known without asking; see `LockStore.nameProblem`. */
  nameProblem?(name: string): string | undefined;
  /** Reads the documents of these locks, or all: each once, and those that there are. Locks nothing. @param names each of them once */
  read(names: readonly string[] | 'all'): Promise<DocumentsRead>;
  /**
   * Writes changes of locks that differ, each over exactly the document that was seen.
   *
   * @returns for each whether it was written. `undefined`: others have written since, so that nobody can tell
   */
  write(changes: readonly Change[]): Promise<(boolean | undefined)[]>;
  /**
   * Lets documents of locks that differ, if they are taken, end so many milliseconds from now; all else stays as it is.
   *
   * @returns for each whether its document was taken, and last written by the one who asks
   */
  renew(renewals: readonly Renewal[]): Promise<boolean[]>;
}

/** The answer to {@link LockDocuments.read}. */
export interface DocumentsRead {
  /** The database's time, which goes with the documents. */
  readonly now: number;
  readonly documents: readonly ReadDocument[];
  /** Locks that the place turns out to be unable to keep, and why: their calls fail so. */
  readonly problems?: ReadonlyMap<string, SchedulerLockError>;
}

/** The document of a lock, as it was read. */
export interface ReadDocument extends Omit<SeenDocument, 'taken'> {
  readonly name: string;
  /** Until when it is taken. Later than `now`: the lock is taken. `Infinity`: without an end. */
  readonly until: number;
  /** When its newest lease began. */
  readonly since: number;
  /** The text that goes with `version`, as it was written. Empty if there is none. */
  readonly state: string;
}

/** What a change was decided on, and what the document must still be when it is written. */
export interface SeenDocument {
  /** Drawn by whoever wrote the document last. Empty if none of ours ever did. */
  readonly version: string;
  /** Who wrote it last, for people, too. Not ours if another program did. */
  readonly by: string;
  /** Whether the lock is taken, by the database's clock when it writes. */
  readonly taken: boolean;
}

/** One change of one document. */
export interface Change {
  readonly name: string;
  /** `null`: there is no document. */
  readonly seen: SeenDocument | null;
  /** Until when it is taken from now on: so many milliseconds after the database writes it, or before. Absent: as before. */
  readonly end?: number;
  /** Whether its lease begins now. */
  readonly begins?: true;
  /** A new one for each change. */
  readonly version: string;
  readonly by: string;
  readonly state: string;
}

/** One renewal of one document. */
export interface Renewal {
  readonly name: string;
  readonly by: string;
  /** Milliseconds from now. */
  readonly ttl: number;
}
