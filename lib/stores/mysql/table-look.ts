import { LOCKED_BY_LENGTH } from '../../contract/holder-text.js';
import type { Row, TableLook } from '../sql/dialect.js';
import { judge } from '../sql/sql-table.js';
import type { MysqlTable } from './columns.js';
import { mysqlDdl } from './schema.js';
import { raw, type Sql, sql } from './sql-text.js';

/** A table that the store can use, and what its column `name` takes. */
export interface MysqlTableInfo extends MysqlTable {
  /** Characters. Without a strict `sql_mode`, longer names would be cut. */
  readonly room: number;
  /** Whether it takes every character. */
  readonly unicode: boolean;
  readonly widening: string;
}

/** Looks at a table: a row for each column, with settings of the session; no row if there is no table. */
export function lookStatement({ table, schema }: { table: string; schema: string }): Sql {
  return sql`SELECT c.column_name AS \`name\`, c.data_type AS \`type\`, c.datetime_precision AS \`digits\`,
  c.character_maximum_length AS \`length\`, c.collation_name AS \`collation\`, c.character_set_name AS \`charset\`,
  c.column_key AS \`key\`, c.is_nullable AS \`nullable\`,
  @@session.autocommit AS \`autocommit\`, @@session.sql_mode AS \`mode\`, VERSION() AS \`server\`
FROM information_schema.columns c
WHERE c.table_schema = ${schema} AND c.table_name = ${table}`;
}

/** Reads the answer to {@link lookStatement}. */
export function readLook(table: string, rows: readonly Row[]): TableLook<MysqlTableInfo> {
  const columns = new Map(rows.map((row) => [String(row['name']).toLowerCase(), row]));
  const typeOf = (name: string): string => String(columns.get(name)?.['type']).toLowerCase();
  const isKey = (name: string): boolean => columns.get(name)?.['key'] === 'PRI';
  const ddl = mysqlDdl(table);
  const fault = judge(table, new Set(columns.keys()), ddl, () => {
    if (![...columns.keys()].every((name) => isKey(name) === (name === 'name')))
      return 'its column name has to be its primary key';
    for (const name of ['lock_until', 'locked_at']) {
      const isTime =
        ['datetime', 'timestamp'].includes(typeOf(name)) && typeOf(name) === typeOf('lock_until');
      if (!isTime || Number(columns.get(name)?.['digits']) < 3)
        return `its column ${name} has to be a DATETIME(6) or a TIMESTAMP(3), as the other time is: it has to know milliseconds`;
    }
    if (
      !/^(varchar|text)$/.test(typeOf('locked_by')) ||
      Number(columns.get('locked_by')?.['length']) < LOCKED_BY_LENGTH
    )
      return `its column locked_by has to take ${LOCKED_BY_LENGTH} characters`;
    return columns.get('lock_until')?.['nullable'] === 'NO'
      ? undefined
      : 'its column lock_until has to be NOT NULL';
  });
  const [session = {}] = rows;
  const problem = rows.length === 0 ? undefined : sessionProblem(session);
  if (problem !== undefined) return { problem };
  if (fault !== undefined) return fault;
  const name = columns.get('name') ?? {};
  return {
    table: {
      table: raw(table),
      zoned: typeOf('lock_until') === 'timestamp',
      exact: name['collation'] === 'utf8mb4_bin',
      mariadb: /mariadb/i.test(String(session['server'])),
      room: Number(name['length']),
      unicode: name['charset'] === 'utf8mb4',
      widening: ddl.widening,
    },
  };
}

/** Ways to read SQL in which the store does not work, and why. */
const MODES = [
  ['NO_BACKSLASH_ESCAPES', 'mysql2 does not quote values safely'],
  ['ORACLE', 'the name of a column is reserved, so that the store keeps neither histories nor queued calls'],
  ['EMPTY_STRING_IS_NULL', 'an empty text is NULL, so that the store reads less than it wrote'],
] as const;

/** What keeps the store from using any table in such a session. */
function sessionProblem({ autocommit, mode }: Row): string | undefined {
  if (Number(autocommit) !== 1) {
    return 'The pool has autocommit switched off: nothing that the store writes would ever be seen.';
  }
  for (const [name, why] of MODES)
    if (String(mode).split(',').includes(name))
      return `The pool has the sql_mode ${name}, in which ${why}. Give its connections another one: SET SESSION sql_mode = 'TRADITIONAL'.`;
  return undefined;
}
