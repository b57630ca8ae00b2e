import type { Row } from './row.js';

/** What the queued calls need of a kind of database. In its statements `{t}` is their table. */
export interface QueuedCallsDialect {
  /** Their table, quoted. */
  readonly table: string;
  /** Creates the table. Each statement can be repeated. */
  readonly creation: readonly string[];
  /** SQL: the time, whole milliseconds since 1970. */
  readonly now: string;
  /** SQL: the time, whole microseconds since 1970. */
  readonly micros: string;
  /** SQL: a parameter as a whole number. */
  readonly int: string;
  read(text: string, values: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs a write. Returns how many rows it has found. */
  write(text: string, values: readonly unknown[]): Promise<number>;
  /** `stored`: the name of a lock as the column has it; `nameOf` turns it back. */
  stored(name: string): string;
  nameOf(stored: string): string;
  /** Sends a hint to every process that hears hints, if the database can. */
  announce?(text: string): Promise<unknown>;
}
