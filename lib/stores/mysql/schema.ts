import { OUR_COLUMNS, type TableDdl } from '../sql/sql-table.js';
import { type SqlStoreOptions, TableNames } from '../sql/table-name.js';

/** MySQL refuses longer names. It counts characters; most characters are one byte. */
const NAME_BYTES = 64;

/** @throws SchedulerLockConfigError for an invalid name */
export const mysqlNames = (options: SqlStoreOptions): TableNames =>
  new TableNames(options, { quote: '`', maxLength: NAME_BYTES });

/** In character sets of their own: the table may have any. */
const TYPES = {
  version: 'VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL',
  state: 'MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL',
} as const;

/**
 * The SQL that creates a table, or makes one usable. A new table has DATETIME, because a TIMESTAMP means a different time in each
 * session's zone, and a collation for which no two different names are equal.
 */
export function mysqlDdl(table: string): TableDdl {
  return {
    creation: [
      `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  lock_until DATETIME(6) NOT NULL,
  locked_at DATETIME(6) NOT NULL,
  locked_by VARCHAR(255) NOT NULL,
  version ${TYPES.version},
  state ${TYPES.state}
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    ],
    addition: (columns) =>
      `ALTER TABLE ${table} ${columns.map((name) => `ADD COLUMN ${name} ${TYPES[name]}`).join(', ')}`,
    widening: `ALTER TABLE ${table} MODIFY name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL`,
    // No less than milliseconds, and a key of the name alone.
    fits: {
      name: /^varchar\(\d+\) NOT NULL KEY$/,
      lock_until: /^(datetime|timestamp)\([3-6]\) NOT NULL$/,
      locked_at: /^(datetime|timestamp)\([3-6]\)( NOT NULL)?$/,
      locked_by: /^(varchar\(255\)|text)( NOT NULL)?$/,
    },
  };
}

const SHEDLOCK = mysqlDdl('shedlock');

export const SCHEMA = `${SHEDLOCK.creation.join('')};\n`;

export const SHEDLOCK_ADDITION = `${SHEDLOCK.addition(OUR_COLUMNS)};\n`;
