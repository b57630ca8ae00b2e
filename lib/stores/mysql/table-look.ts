import { LOCKED_BY_LENGTH } from '../sql/locked-by.js';
import type { MysqlTable } from './columns.js';
import { mysqlAddition, mysqlCreation, OUR_COLUMN_NAMES } from './schema.js';
import { type PlainStatements, plainStatements } from './plain-statements.js';
import { raw, type Sql, sql } from './sql-text.js';

/** The facts about the table, and about the session that asked for them. */
export interface MysqlTableInfo extends MysqlTable {
  /** The length of the column `name`, characters. Without a strict `sql_mode`, longer names would be cut. */
  readonly nameLength: number;
  /** The statements for most calls. */
  readonly plain: PlainStatements;
  /** Whether the column takes every character. */
  readonly unicode: boolean;
}

export type MysqlFinding =
  | { readonly statements: MysqlTableInfo }
  | { readonly missing: string; readonly lacks: 'table' | 'columns'; readonly migration: string }
  | { readonly problem: string };

/** A row per column of the table, with settings of the session; no row if there is no table. */
export function lookStatement({ table, schema }: { table: string; schema: string | undefined }): Sql {
  return sql`SELECT c.column_name AS \`name\`, c.data_type AS \`type\`, c.datetime_precision AS \`digits\`,
  c.character_maximum_length AS \`length\`, c.collation_name AS \`collation\`, c.character_set_name AS \`charset\`,
  @@session.autocommit AS \`autocommit\`, @@session.sql_mode AS \`mode\`, VERSION() AS \`server\`
FROM information_schema.columns c
WHERE c.table_schema = COALESCE(${schema ?? null}, DATABASE()) AND c.table_name = ${table}`;
}

/**
 * A row per column of each unique index of the table. A separate statement: a subquery would run for each column. Leaves out
 * indexes of column prefixes: they take names with the same beginning for equal.
 */
export function indexStatement({ table, schema }: { table: string; schema: string | undefined }): Sql {
  return sql`SELECT s.index_name AS \`index\`, s.column_name AS \`column\` FROM information_schema.statistics s
WHERE s.table_schema = COALESCE(${schema ?? null}, DATABASE()) AND s.table_name = ${table} AND s.non_unique = 0
  AND s.sub_part IS NULL`;
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly digits: unknown;
  readonly length: unknown;
  readonly collation: string | null;
  readonly charset: string | null;
  readonly autocommit: unknown;
  readonly mode: string;
  readonly server: string;
}

type Row = Readonly<Record<string, unknown>>;

const SHEDLOCK_COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'];

/** The unique index on this column alone, if there is one; preferably the primary key. */
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

/** Judges the table by the answers to {@link lookStatement} and {@link indexStatement}. */
export function judgeTable(table: string, rows: readonly Row[], indexes: readonly Row[]): MysqlFinding {
  const columns = new Map((rows as unknown as Column[]).map((column) => [column.name.toLowerCase(), column]));
  if (columns.size === 0) {
    return {
      missing: `The table ${table} does not exist.`,
      lacks: 'table',
      migration: mysqlCreation(table),
    };
  }
  const lacking = (names: readonly string[]): string[] => names.filter((name) => !columns.has(name));
  const foreign = lacking(SHEDLOCK_COLUMNS);
  if (foreign.length > 0) {
    return {
      problem: `The table ${table} has no column ${foreign.join(', ')}: it is not one of ShedLock's. Give another name (table).`,
    };
  }
  const missing = lacking(OUR_COLUMN_NAMES);
  if (missing.length > 0) {
    return {
      missing: `The table ${table} has no column ${missing.join(', ')}.`,
      lacks: 'columns',
      migration: mysqlAddition(table, missing),
    };
  }
  const [name, until] = [columns.get('name'), columns.get('lock_until')];
  if (name === undefined || until === undefined) throw new Error('These columns have just been seen.');
  const type = until.type.toLowerCase();
  if (!['datetime', 'timestamp'].includes(type) || Number(until.digits) < 3) {
    return {
      // Whole seconds would end leases up to half a second before their holders expect it.
      problem:
        `The column lock_until of ${table} is a ${type}(${String(until.digits)}), and has to know milliseconds. Run this:\n` +
        `ALTER TABLE ${table} MODIFY lock_until ${type}(3) NOT NULL, MODIFY locked_at ${type}(3) NOT NULL;`,
    };
  }
  const index = uniqueIndex('name', indexes);
  if (index === undefined) {
    return {
      problem: `The column name of ${table} is not unique. Run this:\nALTER TABLE ${table} ADD PRIMARY KEY (name);`,
    };
  }
  const by = columns.get('locked_by');
  if (!/char|text/i.test(by?.type ?? '') || Number(by?.length) < LOCKED_BY_LENGTH) {
    return {
      problem:
        `The column locked_by of ${table} is a ${by?.type}(${String(by?.length)}), and has to take ${LOCKED_BY_LENGTH} characters, as ShedLock's does. Run this:\n` +
        `ALTER TABLE ${table} MODIFY locked_by VARCHAR(${LOCKED_BY_LENGTH}) NOT NULL;`,
    };
  }
  if (Number(name.autocommit) !== 1) {
    return {
      problem: 'The pool has autocommit switched off: nothing that the store writes would ever be seen.',
    };
  }
  if (name.mode.includes('NO_BACKSLASH_ESCAPES')) {
    return {
      problem:
        'The pool has the sql_mode NO_BACKSLASH_ESCAPES, in which mysql2 does not quote values safely.',
    };
  }
  const known: MysqlTable = {
    table: raw(table),
    zoned: type === 'timestamp',
    exact: name.collation === 'utf8mb4_bin',
    index: raw(`\`${index.replaceAll('`', '``')}\``),
    mariadb: /mariadb/i.test(name.server),
  };
  return {
    statements: {
      ...known,
      plain: plainStatements(known),
      nameLength: Number(name.length),
      unicode: name.charset === 'utf8mb4',
    },
  };
}
