import { SchedulerLockConfigError } from '../../errors.js';
import { quotedTable, type SqlStoreOptions } from '../sql/table-name.js';

/** MySQL refuses longer names. It counts characters; most characters are one byte. */
const NAME_BYTES = 64;

/**
 * Database and table, quoted.
 *
 * @throws SchedulerLockConfigError for an invalid name, and for one with a question mark: some versions of `mysql2`, and other
 *   clients, take it for a parameter even in quotes
 */
export function mysqlTable(options: SqlStoreOptions): string {
  const quoted = quotedTable(options, '`', NAME_BYTES);
  if (quoted.includes('?')) {
    throw new SchedulerLockConfigError([
      `store: table, schema: ${quoted} holds a question mark, which clients take for a parameter.`,
    ]);
  }
  return quoted;
}

const OUR_COLUMNS = { fencing_token: 'BIGINT NULL', job_state: 'JSON NULL' } as const;

/**
 * The SQL that creates the table. With DATETIME, as a TIMESTAMP means a different time in each session's zone, and with a
 * collation for which no two different names are equal.
 */
export function mysqlCreation(table: string): string {
  const columns = Object.entries(OUR_COLUMNS).map(([name, type]) => `  ${name} ${type}`);
  return `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  lock_until DATETIME(6) NOT NULL,
  locked_at DATETIME(6) NOT NULL,
  locked_by VARCHAR(255) NOT NULL,
${columns.join(',\n')}
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
}

/** The SQL that adds our columns to a table that ShedLock has created. */
export function mysqlAddition(table: string, missing: readonly string[]): string {
  const additions = Object.entries(OUR_COLUMNS)
    .filter(([name]) => missing.includes(name))
    .map(([name, type]) => `ADD COLUMN ${name} ${type}`);
  return `ALTER TABLE ${table} ${additions.join(', ')}`;
}

/** The names of the columns that ShedLock's table lacks. */
export const OUR_COLUMN_NAMES: readonly string[] = Object.keys(OUR_COLUMNS);

/** The SQL that creates the table `shedlock`, for teams with their own migrations (`migrate: false`). It can be repeated. */
export const SCHEMA = `${mysqlCreation('shedlock')};\n`;

/**
 * The SQL that adds the missing columns to a table `shedlock` that ShedLock has created. It cannot be repeated, as MySQL has no
 * `ADD COLUMN IF NOT EXISTS`.
 */
export const SHEDLOCK_ADDITION = `${mysqlAddition('shedlock', OUR_COLUMN_NAMES)};\n`;
