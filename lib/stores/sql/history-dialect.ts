import type { Row } from './row.js';

/** A row of the table of the runs, without its times, which the database sets. */
export interface EntryRow {
  /** Name of the lock. */
  readonly name: string;
  /** Unique among the entries of the lock: see history-row.ts. */
  readonly entry: string;
  readonly kind: string;
  /** How long it is kept, ms. */
  readonly age: number;
  /** JSON. */
  readonly data: string;
}

/** The row of an instance. */
export interface InstanceRow {
  readonly id: string;
  /** The id of the row with its list of jobs. */
  readonly catalogue: string;
  /** JSON. */
  readonly data: string;
}

/**
 * What histories need of a kind of database. In its statements `{runs}` and `{instances}` are their tables:
 *
 *   runs       name, entry: both together are unique; kind, noted_at, expires_at, data
 *   instances  id: unique; catalogue, the id of the row with its list of jobs, or NULL for a row that is such a list; seen_at, data
 *
 * Times are whole milliseconds since 1970.
 */
export interface HistoryDialect {
  /** The tables, quoted. */
  readonly runs: string;
  readonly instances: string;
  /** Why such tables cannot exist: their names are too long. */
  readonly unusable?: string | undefined;
  /** Creates both. Each statement can be repeated. */
  readonly creation: readonly string[];
  /** SQL: the time. */
  readonly now: string;
  /** SQL: a parameter as a whole number. */
  readonly int: string;
  /** The beginning and the end of an INSERT that leaves out rows that exist. */
  readonly unlessKnown: readonly [start: string, end: string];
  /** The end of an INSERT of ended runs: the end of a run replaces the interruption of the run, but no earlier end. */
  readonly overInterruption: string;
  /** The end of an INSERT of a list of jobs, which replaces a list with other data. */
  readonly overList: string;
  /** Runs a statement. */
  read(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs an INSERT. Returns how many rows it has made. */
  write(text: string, values: readonly unknown[]): Promise<number>;
  /** Writes the row of an instance. Returns a row: `time`, and `known`: whether the list of jobs is known. */
  beat(instance: InstanceRow): Promise<Row | undefined>;
  /** The name of a lock as the column has it. */
  stored(name: string): string;
}
