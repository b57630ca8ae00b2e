import type { Row } from '../sql/dialect.js';

/**
 * A client of PostgreSQL: a `Pool` of `pg`, or anything that takes `$1` parameters and answers the rows, or an object with them.
 * Each call has to be a transaction of its own, as usual without BEGIN.
 */
export interface PostgresClient {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
}

/** Prisma and TypeORM answer an array of the rows; for an UPDATE, TypeORM answers a pair of the rows and their number. */
export function rowsOf(result: unknown): readonly Row[] {
  if (!Array.isArray(result)) return (result as { rows: Row[] }).rows;
  return Array.isArray(result[0]) ? (result[0] as Row[]) : (result as Row[]);
}
