import type { Change, DocumentsRead, Renewal } from '../../store/port.js';
import type { HintChannel } from '../lock-store.js';
import type { QueuedCallsDialect } from './queued-calls-dialect.js';
import type { SqlFailure } from './failure.js';
import type { HistoryDialect } from './history-dialect.js';

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
   * All SQL that a person has to run for the store and what it may be used for, with rights for the user and in the place of the last
   * look.
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

  /*
   * As LockDocuments has them. Those that write fail as `locked` if another transaction has locked one of the rows, without having
   * written any, or leave that row out; and as `conflict` if others have caused a rollback.
   */
  read(table: Table, names: readonly string[] | 'all'): Promise<DocumentsRead>;
  /** Changes of rows that are there, or rows that are new, never both at once. */
  write(table: Table, changes: readonly Change[]): Promise<boolean[]>;
  renew(table: Table, renewals: readonly Renewal[]): Promise<boolean[]>;

  /** Opens the channel for hints, if calls are told of their turn. */
  readonly hints?: ((process: string, called: (token: string) => void) => HintChannel) | undefined;
  /** Tells a process that a call of it is called. Never rejects. */
  readonly hint?: ((process: string, token: string) => Promise<void>) | undefined;

  /** Queued calls: a table of their own. */
  readonly queuedCalls: QueuedCallsDialect;
  /** Histories: two tables of their own. */
  readonly history: HistoryDialect;

  /** Classifies an error of the driver. */
  failure(error: unknown): SqlFailure;
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
