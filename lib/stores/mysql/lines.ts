import { STEP_OF_PRIORITY } from '../rules.js';
import type { Entrant, LineChange } from '../sql/dialect.js';
import { NOBODY } from '../sql/locked-by.js';
import {
  clockOf,
  endOf,
  EPOCH_MICROSECONDS,
  EPOCH_MS,
  isNamed,
  type MysqlTable,
  nowOf,
  storedName,
} from './columns.js';
import { raw, type Sql, sql } from './sql-text.js';

/*
 * The line of calls that wait, in job_state: { "line": { "version", "calls": { <token>: { "place", "process", "until" } }, "called",
 * "missed" } }. See sql/lines.ts.
 */

export const NOBODY_IN_LINE = raw("JSON_EXTRACT(job_state, '$.line') IS NULL");

/** Whether the line is the one that was read. */
export const isSeen = ({ seen }: LineChange): Sql =>
  sql`JSON_UNQUOTE(JSON_EXTRACT(job_state, '$.line.version')) = ${seen}`;

/** A job_state with another line. @param line JSON; `null`: none */
export function withLine(state: Sql, line: string | null): Sql {
  const without = sql`JSON_REMOVE(${state}, '$.line')`;
  return line === null ? without : sql`JSON_MERGE_PATCH(${without}, ${`{"line":${line}}`})`;
}

/** A call enters the line, or stays at its place there. */
export function enterStatement(table: MysqlTable, entrant: Entrant): Sql {
  const { name, token, process, priority, place, limit, version } = entrant;
  const last = sql`${EPOCH_MICROSECONDS} - ${raw(String(priority * STEP_OF_PRIORITY))}`;
  const until = sql`CAST(${EPOCH_MS} + ${limit} AS SIGNED)`;
  const call = sql`JSON_OBJECT('place', ${place ?? last}, 'process', ${process}, 'until', ${until})`;
  return sql`UPDATE ${table.table} SET job_state = JSON_MERGE_PATCH(COALESCE(job_state, '{}'),
  JSON_OBJECT('line', JSON_OBJECT('version', ${version}, 'calls', JSON_OBJECT(${token}, ${call}))),
  ${JSON.stringify({ line: { missed: { [process]: null } } })})
WHERE ${isNamed(table, storedName(name))}`;
}

/** A call leaves the line. */
export function leaveStatement(
  table: MysqlTable,
  name: string,
  { token, version }: Pick<Entrant, 'token' | 'version'>,
): Sql {
  const path = `$.line.calls."${token}"`;
  return sql`UPDATE ${table.table} SET job_state = JSON_SET(JSON_REMOVE(job_state, ${path}), '$.line.version', ${version})
WHERE ${isNamed(table, storedName(name))} AND JSON_EXTRACT(job_state, ${path}) IS NOT NULL`;
}

/** Replaces the line of a free lock, if the line is the one that was read. */
export function changeLineStatement(table: MysqlTable, name: string, change: LineChange): Sql {
  return sql`UPDATE ${table.table} SET job_state = ${withLine(raw('job_state'), change.line)}
WHERE ${isNamed(table, storedName(name))} AND ${isSeen(change)} AND lock_until <= ${clockOf(table)}`;
}

/**
 * Makes the row of a lost lock, with the smallest fencing token, so that its holder can write the lease back. Fails with a duplicate key if
 * another client has made the row meanwhile.
 */
export function keepFreeStatement(table: MysqlTable, name: string, ms: number): Sql {
  return sql`INSERT INTO ${table.table} (name, lock_until, locked_at, locked_by, fencing_token)
VALUES (${storedName(name)}, ${endOf(table, ms)}, ${nowOf(table)}, ${NOBODY}, 0)`;
}
