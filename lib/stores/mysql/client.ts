import type { Sql } from './sql-text.js';

/**
 * What sends statements to MySQL or MariaDB: a pool of `mysql2/promise`, or anything that takes `?` parameters and answers
 * what `mysql2` does. Each call has to be a transaction of its own, as it is unless one was begun.
 */
export interface MysqlClient {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
}

export type Row = Readonly<Record<string, unknown>>;

/** What a write answers. */
export interface Written {
  /** Rows that it has found. */
  readonly affectedRows: number | string;
  /** What it has put into LAST_INSERT_ID(). */
  readonly insertId: number | string;
}

export async function write(client: MysqlClient, { text, values }: Sql): Promise<Written> {
  return resultOf(await client.query(text, [...values])) as Written;
}

export async function read(client: MysqlClient, { text, values }: Sql): Promise<readonly Row[]> {
  return resultOf(await client.query(text, [...values])) as readonly Row[];
}

/** `mysql2` answers a pair of result and columns, TypeORM the result itself. Rows are objects, so a pair is told apart. */
function resultOf(answer: unknown): unknown {
  if (!Array.isArray(answer) || answer.length !== 2) return answer;
  const [first] = answer as unknown[];
  const isResult =
    Array.isArray(first) || (typeof first === 'object' && first !== null && 'affectedRows' in first);
  return isResult ? first : answer;
}
