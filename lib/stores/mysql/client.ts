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

/** Returns how many rows a write has found. */
export async function write(gate: Gate, { text, values }: Sql): Promise<number> {
  const { affectedRows } = resultOf(await gate.send(text, [...values])) as { affectedRows: number | string };
  return Number(affectedRows);
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
