import type { AcquireRequest, LeaseRef, LockInfo, ReleaseOptions } from '../lock-store.js';
import type { AttemptRow, SeenRow } from './answers.js';
import type { SqlFailure } from './failure.js';

/** What a kind of database has to do for {@link SqlLockStore}; `S` is what it knows of the table, its statements. */
export interface SqlDialect<S> {
  /** The kind of database. */
  readonly kind: string;
  /** The table as messages show it. */
  readonly table: string;
  /** Looks at the table. */
  look(): Promise<TableLook<S>>;
  /** What creates the table, or the columns that are missing. Each statement can be repeated, and run at several places at once. */
  migration(): readonly string[];
  /** What makes room for long names. */
  widening(): string;
  /** What is wrong with a name that the table cannot keep, with what to do; `undefined` if it can. */
  nameProblem(statements: S, name: string): string | undefined;
  /**
   * Runs a statement of the migration. It waits for locks for no longer than `LOCK_WAIT`, and fails as `locked` then; where the
   * client lets itself be told, one that has no answer within `TRY_LIMIT` fails as `unknown`, and its connection is closed.
   */
  migrate(statement: string): Promise<void>;

  attempt(statements: S, request: AcquireRequest): Promise<AttemptRow>;
  /** For each lease `true`, or what the row says of one that was not renewed. */
  renew(statements: S, leases: readonly LeaseRef[]): Promise<(true | SeenRow)[]>;
  /** Whether the lease was still live, or what the row says if it was not there. */
  giveBack(
    statements: S,
    lease: LeaseRef,
    options: Required<ReleaseOptions>,
  ): Promise<{ readonly live: boolean } | SeenRow>;
  all(statements: S): Promise<LockInfo[]>;

  /** What an error of the driver means. */
  failure(error: unknown): SqlFailure;
}

/** What a look at the table has found. */
export type TableLook<S> =
  | { readonly statements: S }
  /** The table, or columns of it, are not there: the migration helps. */
  | { readonly missing: string; readonly lacks: 'table' | 'columns' }
  /** It cannot be used, and the migration does not help: what is to be done. */
  | { readonly problem: string };
