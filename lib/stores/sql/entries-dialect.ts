import { SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { NewEntry } from '../../rules/entries/entries.js';

/** A row as a driver answers it. Drivers represent numbers, times and JSON by different types. */
export type Row = Readonly<Record<string, unknown>>;

/** An entry to write, as the table has it. */
export interface EntryRow extends Omit<NewEntry, 'lock' | 'slot' | 'job'> {
  /** Stands for lock and id. */
  readonly digest: string;
  readonly name: string;
  /** Stands for lock and slot; `null`: none. */
  readonly slot: string | null;
  readonly job: string | null;
}

/** Runs a statement until its answer is conclusive. */
export type Once = <T>(statement: () => Promise<T>) => Promise<T>;

/**
 * What entries need of a kind of database. In its statements `{entries}` is their table:
 *
 *   digest      of lock and id: unique
 *   slot        of lock and slot, or NULL: unique
 *   name        of the lock; id, kind, version, job, place, body: see NewEntry
 *   noted_at    when it was written; expires_at, when its time is over: whole milliseconds since 1970
 */
export interface EntriesDialect {
  /** The table, quoted. */
  readonly table: string;
  /** Creates the table. Each statement can be repeated. */
  readonly creation: readonly string[];
  /** All of its columns. */
  readonly columns: string;
  /** SQL: the time. */
  readonly now: string;
  /** Runs a statement with `?` for its parameters. */
  read(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs a DELETE. Returns how many rows it has found. */
  write(text: string, values: readonly unknown[]): Promise<number>;
  /**
   * As LockEntries has it, but an entry whose time is over keeps its slot. All may be written over the same versions and where there is none, or
   * over whatever there is, or each over its own versions only.
   */
  put(rows: readonly EntryRow[], once: Once): Promise<boolean[]>;
}

/** The error of a statement says nothing of those before it, which have written something. */
export function partly(error: unknown): unknown {
  if (!(error instanceof SchedulerLockError)) return error;
  if (error instanceof StoreUnavailableError && error.outcome === 'unknown') return error;
  return new StoreUnavailableError(`${error.message} Some entries are written.`, { outcome: 'unknown' });
}
