import type { Change, DocumentsRead, ReadDocument, Renewal } from '../../contract/port.js';
import type { EntriesDialect, Row } from './entries-dialect.js';
import type { SqlFailure } from './failure.js';

export type { Row } from './entries-dialect.js';

/** How long a statement of a migration waits for locks, seconds. For that time, all other users of the table wait behind the statement. */
export const LOCK_WAIT = 2;
/** After so many ms the connection of a statement of a migration is given up: many times as long as it needs with its locks. */
export const TRY_LIMIT = 60_000;

/** Whether a change was written. `undefined`: others have written since, so that nobody can tell. */
export type Written = boolean | undefined;

/** What {@link SqlLockStore} needs of a kind of database. `Table` is what the dialect knows of a table that can be used. */
export interface SqlDialect<Table> {
  readonly kind: string;
  /** The table, for messages. */
  readonly table: string;
  /** Looks at the table in the catalogue of the database. */
  look(): Promise<TableLook<Table>>;
  /** After a look: which settings the client lacks, for the log. Absent: it needs none. */
  warning?(): string | undefined;
  /** Runs statements that read and write nothing: they fail if the user may not read, or not write, the table of the last look. */
  attempt(): Promise<void>;
  /**
   * All SQL that a person has to run, with rights for the user, in the schema that the last look has found.
   *
   * @param locks the statements that make an existing table of the locks usable; absent: those that create it
   */
  setup(locks?: readonly string[]): string;
  /** Why this table cannot keep a name, and what to do; `undefined` if it can. Without a table: why no table can. */
  nameProblem(table: Table | undefined, name: string): string | undefined;
  /** Runs a statement of the migration, which waits for locks for at most `LOCK_WAIT`, and then fails as `locked`. */
  migrate(statement: string): Promise<void>;

  /** See `reconnect` of `LockStore`. @param silence milliseconds without an answer; `undefined` if a connection broke */
  reconnect(silence: number | undefined): void;

  /*
   * As LockDocuments has them. Those that write fail as `locked` if another transaction has locked one of the rows, without having
   * written any, or leave that row out; and as `conflict` if others have caused a rollback.
   */
  read(table: Table, names: readonly string[] | 'all'): Promise<DocumentsRead>;
  /** Changes of rows that are there, or rows that are new, never both at once. */
  write(table: Table, changes: readonly Change[]): Promise<Written[]>;
  renew(table: Table, renewals: readonly Renewal[]): Promise<boolean[]>;

  /** Entries, which hold queued calls and histories: a table of their own. */
  readonly entries: EntriesDialect;

  /** Classifies an error of the driver. */
  failure(error: unknown): SqlFailure;
}

/** The result of a look: a table that is ours or ShedLock's, what it lacks and what creates that, or why it cannot be used. */
export type TableLook<Table> = { readonly table: Table } | Fault;
export type Fault =
  { readonly missing: string; readonly migration: readonly string[] } | { readonly problem: string };

/** What rows tell: each has the time, and one without a name nothing else. All times are milliseconds since 1970. */
export const documentsIn = (rows: readonly Row[]): DocumentsRead => ({
  now: Number(rows[0]?.['now']),
  documents: rows.flatMap(({ name, version, by, until, since, state }): ReadDocument[] =>
    typeof name !== 'string'
      ? []
      : [
          {
            name,
            version: textOf(version),
            by: textOf(by),
            until: Number(until),
            since: Number(since),
            state: textOf(state),
          },
        ],
  ),
});

/** A column may be NULL. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
