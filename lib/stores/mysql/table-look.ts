import type { TableLook } from '../sql/dialect.js';
import { type Column, judgeTable, type NameColumn } from '../sql/table-judgement.js';
import type { MysqlTable } from './columns.js';
import { mysqlDdl } from './schema.js';
import { raw, type Sql, sql } from './sql-text.js';
import type { Row } from '../sql/strange-rows.js';

/** A table that the store can use. */
export interface MysqlTableInfo extends MysqlTable {
  /** The column of its names. Without a strict `sql_mode`, longer names would be cut. */
  readonly names: NameColumn;
}

/** Looks at a table: a row for each column, with settings of the session; no row if there is no table. */
export function lookStatement({ table, schema }: { table: string; schema: string }): Sql {
  return sql`SELECT c.column_name AS \`name\`, c.data_type AS \`type\`, c.datetime_precision AS \`digits\`,
  c.character_maximum_length AS \`length\`, c.collation_name AS \`collation\`, c.character_set_name AS \`charset\`,
  @@session.autocommit AS \`autocommit\`, @@session.sql_mode AS \`mode\`, VERSION() AS \`server\`
FROM information_schema.columns c
WHERE c.table_schema = ${schema} AND c.table_name = ${table}`;
}

/**
 * A row for each column of each unique index of the table. A separate statement, because a subquery would run for each column. Leaves out
 * indexes of column prefixes, which take names with the same beginning for equal.
 */
export function indexStatement({ table, schema }: { table: string; schema: string }): Sql {
  return sql`SELECT s.index_name AS \`index\`, s.column_name AS \`column\` FROM information_schema.statistics s
WHERE s.table_schema = ${schema} AND s.table_name = ${table} AND s.non_unique = 0
  AND s.sub_part IS NULL`;
}

/** Reads the answers to {@link lookStatement} and {@link indexStatement}. */
export function readLook(
  table: string,
  rows: readonly Row[],
  indexes: readonly Row[],
): TableLook<MysqlTableInfo> {
  const byName = new Map(rows.map((row) => [String(row['name']).toLowerCase(), row]));
  const columns = new Map([...byName].map(([name, row]) => [name, columnOf(row)]));
  const index = uniqueIndex('name', indexes);
  const timeType = String(byName.get('lock_until')?.['type']).toLowerCase();
  const name = byName.get('name') ?? {};
  const facts = { table, columns, unique: index !== undefined, problem: sessionProblem(name) };
  const ddl = mysqlDdl(table, timeType);
  const fault = judgeTable(facts, ddl);
  if (fault !== undefined) return fault;
  const known: MysqlTable = {
    table: raw(table),
    zoned: timeType === 'timestamp',
    exact: name['collation'] === 'utf8mb4_bin',
    index: raw(`\`${index?.replaceAll('`', '``')}\``),
    mariadb: /mariadb/i.test(String(name['server'])),
  };
  const unicode = name['charset'] === 'utf8mb4';
  const names = { length: Number(name['length']), unicode, widening: ddl.widening };
  return { table: { ...known, names } };
}

function columnOf({ type, digits, length }: Row): Column {
  const kind = String(type).toLowerCase();
  return {
    type: `${kind}(${String(digits ?? length)})`,
    ...(['datetime', 'timestamp'].includes(kind) ? { digits: Number(digits) } : undefined),
    ...(/char|text/.test(kind) ? { length: Number(length) } : undefined),
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

/** The unique index on this column alone, if there is one. Prefers the primary key. */
function uniqueIndex(column: string, indexes: readonly Row[]): string | undefined {
  const names = indexes
    .filter(
      (row) =>
        String(row['column']).toLowerCase() === column &&
        indexes.every((other) => other === row || other['index'] !== row['index']),
    )
    .map((row) => String(row['index']));
  return names.find((name) => name === 'PRIMARY') ?? names[0];
}
