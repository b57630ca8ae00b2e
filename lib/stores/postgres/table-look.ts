import type { Row, TableLook } from '../sql/dialect.js';
import { judge, type Room, roomOf, type TableDdl } from '../sql/sql-table.js';
import { postgresStatements } from './statements.js';

/** Looks at a table: a row for each column, and none if there is no table. $1 its name, quoted */
export const LOOK_AT_TABLE = `
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS type
FROM pg_attribute a WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped`;

/** A table that the store can use: its statements, and what its column `name` takes. */
export type PostgresTableInfo = ReturnType<typeof postgresStatements> & Room;

/** Reads the answer to {@link LOOK_AT_TABLE}. */
export function readLook(ddl: TableDdl, rows: readonly Row[]): TableLook<PostgresTableInfo> {
  const types = new Map(rows.map(({ name, type }) => [String(name), String(type)]));
  return judge(types, ddl) ?? { table: { ...postgresStatements(ddl.names.quoted()), ...roomOf(types, ddl) } };
}
