import type { Gate } from '../sql/gate.js';
import type { Sql } from './sql-text.js';
import type { Row } from '../sql/dialect.js';

/**
 * A client of MySQL or MariaDB: a pool of `mysql2/promise`, or anything that takes `?` parameters and answers as `mysql2`
 * does. Each call has to be a transaction of its own, as usual without BEGIN.
 */
export interface MysqlClient {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
}

/** The answer to a write. */
export interface Written {
  /** How many rows the write has found. */
  readonly affectedRows: number | string;
}

export async function write(gate: Gate, { text, values }: Sql): Promise<Written> {
  return resultOf(await gate.send(text, [...values])) as Written;
}

export async function read(gate: Gate, { text, values }: Sql): Promise<readonly Row[]> {
  return resultOf(await gate.send(text, [...values])) as readonly Row[];
}

/**
 * `mysql2` answers a pair of result and columns, TypeORM only the result. Rows are objects, so a pair can be recognised.
 */
function resultOf(answer: unknown): unknown {
  if (!Array.isArray(answer) || answer.length !== 2) return answer;
  const [first] = answer as unknown[];
  const isResult =
    Array.isArray(first) || (typeof first === 'object' && first !== null && 'affectedRows' in first);
  return isResult ? first : answer;
}
