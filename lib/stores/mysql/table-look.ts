import type { Fault, Row, TableLook } from '../sql/dialect.js';
import { judge, roomOf, type TableDdl } from '../sql/sql-table.js';
import { placeOf } from '../sql/table-name.js';
import type { MysqlTable } from './columns.js';
import { raw, type Sql, sql } from './sql-text.js';

/** The database of the connection, whether the server ignores case in names of databases, and the user. */
export const CURRENT_DATABASE = sql`SELECT DATABASE() AS \`here\`, @@lower_case_table_names AS \`folds\`, CURRENT_USER() AS \`user\``;

/**
 * Reads the answer to {@link CURRENT_DATABASE}: the database, or why it cannot be told.
 *
 * @param usual the database of a new connection; `null`: none; `undefined`: that is not known
 */
export function databaseIn(row: Row | undefined, usual: string | null | undefined): string | Fault {
  const { here = null } = (row ?? {}) as { here?: string | null };
  const isSame = Number(row?.['folds']) !== 0 && here?.toLowerCase() === usual?.toLowerCase();
  return placeOf(here, isSame ? here : usual, 'USE');
}

/** Looks at a table: a row for each column, with settings of the session; no row if there is no table. */
export function lookStatement({ table, schema }: { table: string; schema: string }): Sql {
  return sql`SELECT LOWER(c.column_name) AS \`name\`, CONCAT(LOWER(c.column_type), IF(c.is_nullable = 'NO', ' NOT NULL', ''),
  IF(c.column_key = 'PRI', ' KEY', '')) AS \`type\`, c.collation_name AS \`collation\`,
  @@session.autocommit AS \`autocommit\`, @@session.sql_mode AS \`mode\`, VERSION() AS \`server\`
FROM information_schema.columns c
WHERE c.table_schema = ${schema} AND c.table_name = ${table}`;
}

/** Reads the answer to {@link lookStatement}. */
export function readLook(ddl: TableDdl, rows: readonly Row[]): TableLook<MysqlTable> {
  const table = ddl.names.quoted();
  const types = new Map(rows.map(({ name, type }) => [String(name), String(type)]));
  const problem = sessionProblem(rows[0]);
  if (problem !== undefined) return { problem };
  // With a key of several columns a lock could have two rows, and two holders.
  const key = [...types].flatMap(([name, type]) => (type.endsWith(' KEY') ? [name] : []));
  if (key.length > 1 && types.has('name'))
    types.set('name', `one column of the primary key (${key.join(', ')})`);
  const fault = judge(types, ddl);
  if (fault !== undefined) return fault;
  const collation = String(rows.find(({ name }) => name === 'name')?.['collation']);
  return {
    table: {
      ...roomOf(types, ddl),
      table: raw(table),
      zoned: String(types.get('lock_until')).startsWith('timestamp'),
      unicode: collation.startsWith('utf8mb4'),
      mariadb: /mariadb/i.test(String(rows[0]?.['server'])),
    },
  };
}

/** What keeps the store from using any table in such a session. */
function sessionProblem({ autocommit = 1, mode }: Row = {}): string | undefined {
  if (Number(autocommit) !== 1)
    return 'The pool has autocommit switched off: nothing that the store writes would ever be seen.';
  const [bad] = /NO_BACKSLASH_ESCAPES|ORACLE|EMPTY_STRING_IS_NULL/.exec(String(mode)) ?? [];
  return bad === undefined
    ? undefined
    : `The pool has the sql_mode ${bad}, in which the store cannot write safely what it means. Give its connections another one: SET SESSION sql_mode = 'TRADITIONAL'.`;
}
