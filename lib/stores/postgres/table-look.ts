import type { TableLook } from '../sql/dialect.js';
import { LOCKED_BY_LENGTH } from '../sql/locked-by.js';
import { postgresStatements, type PostgresStatements } from './statements.js';

/**
 * What there is to know of the table. $1 its name, quoted
 *
 * Answers a row per column, none if there is no table: name, type, and of the table whether `name` is unique by itself and
 * whether this user may read and write.
 */
export const LOOK = `
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
  has_table_privilege(a.attrelid, 'SELECT') AND has_table_privilege(a.attrelid, 'INSERT')
    AND has_table_privilege(a.attrelid, 'UPDATE') AS usable,
  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid AND i.indimmediate
    AND i.indpred IS NULL AND i.indnatts = 1 AND i.indkey[0] = a.attnum) AS "unique"
FROM pg_attribute a WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped`;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly usable: boolean;
  readonly unique: boolean;
}

/** The facts about the table. */
export interface PostgresTableInfo extends PostgresStatements {
  /** The length of the column `name`, characters; `undefined` if it is unlimited. */
  readonly nameLength: number | undefined;
}

/** The columns that ShedLock documents; without them it is another table. */
const SHEDLOCK_COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'];
const OUR_COLUMNS = ['fencing_token', 'job_state'];

/** Judges the table by its columns. */
export function judgeTable(
  table: string,
  rows: readonly Readonly<Record<string, unknown>>[],
): TableLook<PostgresTableInfo> {
  const columns = new Map((rows as unknown as Column[]).map((column) => [column.name, column]));
  if (columns.size === 0) {
    return { missing: `The table ${table} does not exist.`, lacks: 'table' };
  }
  const lacking = (names: string[]): string => names.filter((name) => !columns.has(name)).join(', ');
  const foreign = lacking(SHEDLOCK_COLUMNS);
  if (foreign !== '') {
    return {
      problem: `The table ${table} has no column ${foreign}: it is not one of ShedLock's. Give another name (table).`,
    };
  }
  const missing = lacking(OUR_COLUMNS);
  if (missing !== '') return { missing: `The table ${table} has no column ${missing}.`, lacks: 'columns' };
  const until = columns.get('lock_until')?.type ?? '';
  const [, digits = '6', zone] = /^timestamp(?:\((\d)\))? (with|without) time zone$/.exec(until) ?? [];
  // Whole seconds would end leases up to half a second before their holders expect it.
  if (zone === undefined || Number(digits) < 3) {
    return {
      problem:
        `The column lock_until of ${table} is a ${until}, and has to know milliseconds. Run this:\n` +
        `ALTER TABLE ${table} ALTER COLUMN lock_until TYPE TIMESTAMP, ALTER COLUMN locked_at TYPE TIMESTAMP;`,
    };
  }
  if (columns.get('name')?.unique !== true) {
    return {
      problem: `The column name of ${table} is not unique. Run this:\nALTER TABLE ${table} ADD PRIMARY KEY (name);`,
    };
  }
  const by = columns.get('locked_by')?.type ?? '';
  const [, varying, length = '255'] = /^(text|character varying)(?:\((\d+)\))?$/.exec(by) ?? [];
  if (varying === undefined || Number(length) < LOCKED_BY_LENGTH) {
    return {
      problem:
        `The column locked_by of ${table} is a ${by}, and has to take ${LOCKED_BY_LENGTH} characters, as ShedLock's does. Run this:\n` +
        `ALTER TABLE ${table} ALTER COLUMN locked_by TYPE VARCHAR(${LOCKED_BY_LENGTH});`,
    };
  }
  if (columns.get('name')?.usable !== true) {
    return { problem: `The user may not read and write the table ${table}: GRANT SELECT, INSERT, UPDATE.` };
  }
  const [, room] = /^character(?: varying)?\((\d+)\)$/.exec(columns.get('name')?.type ?? '') ?? [];
  const statements = postgresStatements({ sql: table, zoned: zone === 'with', exact: Number(digits) === 6 });
  return { statements: { ...statements, nameLength: room === undefined ? undefined : Number(room) } };
}
