import type { AcquireRequest, HintChannel, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { AttemptAnswer, Renewed, SeenLock } from './answers.js';
import type { QueuedCallsDialect } from './queued-calls-dialect.js';
import type { SqlFailure } from './failure.js';
import type { HistoryDialect, EntryRow } from './history-dialect.js';
import type { Ending } from './locked-by.js';
import type { LockRow } from './lock-row.js';

/**
 * How long a statement of a migration waits for locks, seconds. For that time all other users of the table wait behind it. No limit
 * once it has its locks.
 */
export const LOCK_WAIT = 2;
/**
 * How long a statement of a migration may take as a whole until its connection is given up, ms: many times what it needs once it has
 * its locks.
 */
export const TRY_LIMIT = 60_000;

/** What {@link SqlLockStore} needs of a kind of database. `Table` is what it knows of a table that it can use. */
export interface SqlDialect<Table> {
  /** The kind of database. */
  readonly kind: string;
  /** The table as messages show it. */
  readonly table: string;
  /** Looks at the table. It is enough that the user may read it. */
  look(): Promise<TableLook<Table>>;
  /** Why the user may not write the table that was found; `undefined` if it may. Or it fails as a write would. */
  unwritable(): Promise<Fault | undefined>;
  /**
   * All SQL that a person has to run for the store and what it may be used for, with rights for the user and in the schema that the last
   * look has found.
   *
   * @param locks what makes the table of the locks fit, if that is not to create it
   */
  setup(locks?: readonly string[]): string;
  /** Why the table cannot keep a name, with what to do; `undefined` if it can. */
  nameProblem(table: Table, name: string): string | undefined;
  /**
   * Runs a statement of the migration. It waits for locks for no longer than `LOCK_WAIT`, and then fails as `locked`. If the client
   * supports a limit, a statement without an answer within `TRY_LIMIT` fails as `unknown`, and its connection is closed.
   */
  migrate(statement: string): Promise<void>;

  /**
   * Gives up connections that do not answer: see `reconnect` of `LockStore`.
   *
   * @param silence milliseconds without an answer; `undefined` if a connection broke
   */
  reconnect(silence: number | undefined): void;

  /** Takes a lock that is free, if nobody stands in line; with a change, if the line is as it was seen. */
  attempt(table: Table, request: AcquireRequest, how?: HowToAttempt): Promise<AttemptAnswer>;
  /**
   * Renews leases, with one result for each. Does not wait for rows that other transactions have locked: leaves them out, or fails
   * as `locked` without having renewed any.
   */
  renew(table: Table, leases: readonly LeaseRef[]): Promise<Renewed[]>;
  /**
   * Releases a lease. Answers whether it was still live, and whether calls stand in line that can be told; or what the row says if the
   * lease was not there.
   *
   * @param run what to keep of it in the same statement, whatever becomes of the release; only if `history.inRelease`
   */
  giveBack(table: Table, lease: LeaseRef, ending: Ending, run?: EntryRow): Promise<GivenBack | SeenLock>;
  /**
   * Writes a lease back that the database has lost; with an outcome, only records that it has ended. Answers whether it did: not if
   * a newer lease is known, or the row has changed. An older lease loses the lock.
   *
   * @param seen the `locked_by` that the row had, `null` if there was no row
   */
  writeBack(table: Table, lease: LeaseRef, seen: string | null, outcome?: ReleaseOutcome): Promise<boolean>;
  /** The rows of these locks, or of all locks in the order of their names. Locks no row. */
  rows(table: Table, names?: readonly string[]): Promise<LockRow[]>;

  /** A call enters the line of a lock, or stays at its place there. */
  enter(table: Table, entrant: Entrant): Promise<void>;
  /** A call leaves the line. Answers whether it stood there. */
  leave(table: Table, name: string, call: Pick<Entrant, 'token' | 'version'>): Promise<boolean>;
  /** Replaces the line of a free lock, if it is as it was seen. Answers whether it was. */
  changeLine(table: Table, name: string, change: LineChange): Promise<boolean>;
  /** Makes the row of a lock that nobody can take for so many milliseconds, except by a write-back. */
  keepFree(table: Table, name: string, ms: number): Promise<void>;
  /** Opens the channel for hints, if the database can send any. */
  readonly hints?: ((process: string, called: (token: string) => void) => HintChannel) | undefined;
  /** Sends a hint to the process of the call that is called. Never rejects. */
  readonly hint?: ((process: string, token: string) => Promise<void>) | undefined;

  /** Queued calls: a table of their own. */
  readonly queuedCalls: QueuedCallsDialect<Table>;
  /** Histories: two tables of their own. */
  readonly history: HistoryDialect;

  /** Classifies an error of the driver. */
  failure(error: unknown): SqlFailure;
}

export interface HowToAttempt {
  readonly change?: LineChange;
  /** Called before a statement that writes, if others came before it; throws if nobody waits for the attempt any more. */
  readonly goOn?: () => void;
}

/** A line that replaces the one that was seen, if that is there still. */
export interface LineChange {
  readonly seen: string;
  /** JSON; `null`: nobody stands in line. */
  readonly line: string | null;
}

/** A call that enters a line. */
export interface Entrant {
  readonly name: string;
  readonly token: string;
  readonly process: string;
  readonly priority: number;
  /** `undefined`: the last of its priority. */
  readonly place: number | undefined;
  /** How long it waits, ms. */
  readonly limit: number;
  /** Of the line from then on. */
  readonly version: string;
}

/** The answer to a release. */
export interface GivenBack {
  readonly live: boolean;
  /** Whether the store has to call the first in line, who does not find out by asking. */
  readonly line?: boolean;
}

/** The result of a look at the table. */
export type TableLook<Table> = { readonly table: Table } | Fault;

/** Why the table cannot be used: a migration helps, or a person has to do what `problem` says. */
export type Fault = MissingParts | { readonly problem: string; readonly setsUp?: boolean };

/** What a migration can create. */
export interface MissingParts {
  /** What is missing, as a sentence. */
  readonly missing: string;
  readonly lacks: 'table' | 'columns';
  /** The statements that create it. Several instances may run them, also at once. */
  readonly migration: readonly string[];
}
