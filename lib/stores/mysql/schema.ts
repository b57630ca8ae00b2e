import { type SetupOptions, setupText } from '../sql/setup.js';
import type { TableDdl } from '../sql/sql-table.js';
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
 * The SQL of the tables. A new table has DATETIME, because a TIMESTAMP means a different time in each
 * session's zone, and a collation for which no two different names are equal.
 */
export function mysqlDdl(names: TableNames): TableDdl {
  const table = names.quoted();
  return {
    names,
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
    shedlock: `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP(3) NOT NULL,
  locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  locked_by VARCHAR(255) NOT NULL
)`,
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
    entries: entriesDdl(names),
    account,
    home: 'CREATE DATABASE IF NOT EXISTS',
  };
}

/** The statement that creates the table of entries. */
export const entriesDdl = (names: TableNames): string[] => [
  `CREATE TABLE IF NOT EXISTS ${names.quoted('_entries')} (
  digest VARCHAR(43) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  id TEXT NOT NULL,
  kind VARCHAR(64) NOT NULL,
  version VARCHAR(255) NOT NULL,
  slot VARCHAR(43) CHARACTER SET ascii COLLATE ascii_bin NULL UNIQUE,
  job VARCHAR(255) NULL,
  place BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  mark VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  body MEDIUMTEXT NOT NULL,
  INDEX of_lock (name, kind, place),
  INDEX of_job (job),
  INDEX old (expires_at)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
];

/**
 * All SQL for a store whose user may create nothing. It can be run again, except for the columns that it adds to a table of ShedLock.
 *
 * @throws SchedulerLockConfigError if a name is invalid
 */
export const mysqlSetup = (options: SqlStoreOptions & SetupOptions): string =>
  setupText(mysqlDdl(mysqlNames(options)), options);

/** `app`, `app@10.%`, or what CURRENT_USER() says. */
function account(user: string): string {
  const [, name = user, host = '%'] = /^(.*)@([^@]*)$/s.exec(user) ?? [];
  const text = (part: string): string => `'${part.replaceAll(/['\\]/g, '\\$&')}'`;
  return `${text(name)}@${text(host)}`;
}
