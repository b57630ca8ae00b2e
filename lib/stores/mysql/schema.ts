import { SchedulerLockConfigError } from '../../errors.js';
import { LOCKED_BY_LENGTH } from '../sql/locked-by.js';
import type { TableDdl } from '../sql/table-judgement.js';
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
function mysqlCreation(table: string): string {
  const columns = Object.entries(OUR_COLUMNS).map(([name, type]) => `  ${name} ${type}`);
  return `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  lock_until DATETIME(6) NOT NULL,
  locked_at DATETIME(6) NOT NULL,
  locked_by VARCHAR(255) NOT NULL,
${columns.join(',\n')}
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
}

/** The SQL that adds columns of ours to a table that ShedLock has created. */
function mysqlAddition(table: string, columns: readonly string[]): string {
  const additions = Object.entries(OUR_COLUMNS)
    .filter(([name]) => columns.includes(name))
    .map(([name, type]) => `ADD COLUMN ${name} ${type}`);
  return `ALTER TABLE ${table} ${additions.join(', ')}`;
}

/** The SQL that makes a table fit. @param timeType the type of its times */
export function mysqlDdl(table: string, timeType: string): TableDdl {
  return {
    creation: [mysqlCreation(table)],
    addition: (columns) => [mysqlAddition(table, columns)],
    exactTimes: `MODIFY lock_until ${timeType}(3) NOT NULL, MODIFY locked_at ${timeType}(3) NOT NULL`,
    longLockedBy: `MODIFY locked_by VARCHAR(${LOCKED_BY_LENGTH}) NOT NULL`,
  };
}

/** The statement that makes room for long names, and for every character. */
export function widening(table: string): string {
  return `ALTER TABLE ${table} MODIFY name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL`;
}

/** The SQL that creates the table `shedlock`, for teams with their own migrations (`migrate: false`). It can be repeated. */
export const SCHEMA = `${mysqlCreation('shedlock')};\n`;

/**
 * The SQL that adds the missing columns to a table `shedlock` that ShedLock has created. It cannot be repeated, as MySQL has no
 * `ADD COLUMN IF NOT EXISTS`.
 */
export const SHEDLOCK_ADDITION = `${mysqlAddition('shedlock', Object.keys(OUR_COLUMNS))};\n`;
