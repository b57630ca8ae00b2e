import type { AcquireRequest, HintChannel, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { AttemptAnswer, Renewed, SeenLock } from './answers.js';
import type { QueuedCallsDialect } from './queued-calls-dialect.js';
import type { SqlFailure } from './failure.js';
import type { HistoryDialect, EntryRow } from './history-dialect.js';
import type { Ending } from './locked-by.js';
import type { LockRow } from './lock-row.js';

/**
 * How long a statement of a migration waits for locks, seconds. For that time, all other users of the table wait behind the statement.
 * Once it has its locks, there is no limit.
 */
export const LOCK_WAIT = 2;
/**
 * How long a statement of a migration may take as a whole until its connection is given up, ms: many times as long as the statement needs
 * with its locks.
 */
export const TRY_LIMIT = 60_000;

/** What {@link SqlLockStore} needs of a kind of database. `Table` is what the dialect knows of a table that can be used. */
export interface SqlDialect<Table> {
  /** The kind of database. */
  readonly kind: string;
  /** The table, for messages. */
  readonly table: string;
  /** Looks at the table. The user needs the right to read the table, and no other. */
  look(): Promise<TableLook<Table>>;
  /** Why the user may not write the table of the last look; `undefined` if the user may. Or rejects as a write would. */
  unwritable(): Promise<Fault | undefined>;
  /**
   * All SQL that a person has to run for the store, its queued calls and its histories, with rights for the user, and in the schema that
   * the last look has found.
   *
   * @param locks the statements that make an existing table of the locks usable; absent: those that create it
   */
  setup(locks?: readonly string[]): string;
  /** Why the table cannot keep a name, and what to do; `undefined` if the table can. */
  nameProblem(table: Table, name: string): string | undefined;
  /**
   * Runs a statement of the migration.
   *
   * 1. A statement waits for locks for at most `LOCK_WAIT`, and then fails as `locked`.
   * 2. If the client supports a limit, a statement without an answer within `TRY_LIMIT` fails as `unknown`, and its connection is closed.
   */
  migrate(statement: string): Promise<void>;

  /**
   * Gives up connections that do not answer: see `reconnect` of `LockStore`.
   *
   * @param silence milliseconds without an answer; `undefined` if a connection broke
   */
  reconnect(silence: number | undefined): void;

  /** Takes a lock that is free, if nobody stands in line; with a change, if the line is the one that was seen. */
  attempt(table: Table, request: AcquireRequest, how?: HowToAttempt): Promise<AttemptAnswer>;
  /**
   * Renews leases, with one result for each. Does not wait for rows that other transactions have locked: leaves these rows out, or fails
   * as `locked` and renews none.
   */
  renew(table: Table, leases: readonly LeaseRef[]): Promise<Renewed[]>;
  /**
   * Releases a lease. Answers whether the lease was still live, and whether calls stand in line that need a hint; or what the row says, if
   * the row is of another lease.
   *
   * @param run the entry to write in the same statement, even if the lease is not there; only if `history.inRelease`
   */
  giveBack(table: Table, lease: LeaseRef, ending: Ending, run?: EntryRow): Promise<GivenBack | SeenLock>;
  /**
   * Writes a lease back that the database has lost; with an outcome, only records that the lease has ended.
   *
   * 1. Does nothing if the row names a newer lease, or has changed. Answers whether it has written.
   * 2. An older lease loses the lock.
   *
   * @param seen the `locked_by` that was read; `null` if there was no row
   */
  writeBack(table: Table, lease: LeaseRef, seen: string | null, outcome?: ReleaseOutcome): Promise<boolean>;
  /** The rows of these locks, or of all locks in the order of their names. Locks no row. */
  rows(table: Table, names?: readonly string[]): Promise<LockRow[]>;

  /** A call enters the line of a lock, or stays at its place there. */
  enter(table: Table, entrant: Entrant): Promise<void>;
  /** A call leaves the line. Answers whether it stood in line. */
  leave(table: Table, name: string, call: Pick<Entrant, 'token' | 'version'>): Promise<boolean>;
  /** Replaces the line of a free lock, if the line is the one that was seen. Answers whether it was. */
  changeLine(table: Table, name: string, change: LineChange): Promise<boolean>;
  /** Makes the row of a lock that nobody can take for this many milliseconds, except by a write-back. */
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
  /** Called before a statement that writes, if other statements came before; throws if the caller has given up. */
  readonly goOn?: () => void;
}

/** A new line, and the version of the line that it replaces. */
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
  /** How long the call waits, ms. */
  readonly limit: number;
  /** The new version of the line. */
  readonly version: string;
}

/** The answer to a release. */
export interface GivenBack {
  readonly live: boolean;
  /** Whether the store has to call the first in line, which gets a hint. */
  readonly line?: boolean;
}

/** The result of a look at the table. */
export type TableLook<Table> = { readonly table: Table } | Fault;

/** Why the table cannot be used: a migration helps, or a person has to follow `problem`. */
export type Fault = MissingParts | { readonly problem: string; readonly setsUp?: boolean };

/** What a migration can create. */
export interface MissingParts {
  /** What is missing, as a sentence. */
  readonly missing: string;
  readonly lacks: 'table' | 'columns';
  /** The statements that create the missing parts. Several instances may run them, also at once. */
  readonly migration: readonly string[];
}
