import type { Row } from './row.js';

/** A row of the table of the runs, but for its times, which the database knows. */
export interface EntryRow {
  /** Name of the lock. */
  readonly name: string;
  /** Tells it from the others of the lock: see history-row.ts. */
  readonly entry: string;
  readonly kind: string;
  /** How long it is kept, ms. */
  readonly age: number;
  /** JSON: whatever is in there, an ASCII column of any database could hold it. */
  readonly data: string;
}

/** What an instance tells of itself, as a row. */
export interface InstanceRow {
  readonly id: string;
  /** The row of its list of jobs. */
  readonly catalogue: string;
  /** JSON. */
  readonly data: string;
}

/**
 * What histories need of a kind of database. In its statements `{runs}` and `{instances}` are their tables:
 *
 *   runs       name, entry: both together are unique; kind, noted_at, expires_at, data
 *   instances  id: unique; catalogue, the id of the row with its list of jobs, or NULL if it is such a list; seen_at, data
 *
 * Times are whole milliseconds since 1970.
 */
export interface HistoryDialect {
  /** The tables, quoted. */
  readonly runs: string;
  readonly instances: string;
  /** Why there can be no such tables: their names are too long. */
  readonly unusable?: string | undefined;
  /** Creates both. Each statement can be repeated. */
  readonly creation: readonly string[];
  /** Whether a release keeps its run in its own statement. */
  readonly inRelease: boolean;
  /** SQL: the time. */
  readonly now: string;
  /** SQL: a parameter as a whole number. */
  readonly int: string;
  /** The beginning and the end of an INSERT that leaves out a row that is there. */
  readonly unlessKnown: readonly [start: string, end: string];
  /** The end of an INSERT of runs that have ended: one takes the place of its interruption, but not of an end. */
  readonly overInterruption: string;
  /** The end of an INSERT of a list of jobs: it takes the place of one that says something else. */
  readonly overList: string;
  /** Runs a statement. */
  read(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs an INSERT. Returns how many rows it has made. */
  write(text: string, values: readonly unknown[]): Promise<number>;
  /** Keeps what an instance tells. Returns a row: `time` and `known`, whether its list of jobs is known. */
  beat(instance: InstanceRow): Promise<Row | undefined>;
  /** The name of a lock as the column has it. */
  stored(name: string): string;
}
