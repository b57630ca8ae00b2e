import { LOCK_WAIT } from '../sql/dialect.js';
import { type SetupOptions, setupText } from '../sql/setup.js';
import type { TableDdl } from '../sql/sql-table.js';
import { type SqlStoreOptions, TableNames } from '../sql/table-name.js';

/** PostgreSQL cuts longer names. */
const NAME_BYTES = 63;

/** @throws SchedulerLockConfigError for an invalid name */
export const postgresNames = (options: SqlStoreOptions): TableNames =>
  new TableNames(options, { quote: '"', maxLength: NAME_BYTES });

/** The SQL of the tables. Each statement can be repeated. */
export function postgresDdl(names: TableNames): TableDdl {
  const table = names.quoted();
  const addition = `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS version VARCHAR(36), ADD COLUMN IF NOT EXISTS state TEXT`;
  const creation = `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP NOT NULL,
  locked_at TIMESTAMP NOT NULL,
  locked_by VARCHAR(255) NOT NULL,
  version VARCHAR(36),
  state TEXT
)`;
  return {
    names,
    // ShedLock may create the table at the same moment, without our columns.
    creation: [creation, addition],
    addition: () => addition,
    shedlock: `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP NOT NULL,
  locked_at TIMESTAMP NOT NULL,
  locked_by VARCHAR(255) NOT NULL
)`,
    widening: `ALTER TABLE ${table} ALTER COLUMN name TYPE VARCHAR(255)`,
    fits: {
      name: /^(text|character varying)/,
      lock_until: /^timestamp(\(6\))? without time zone NOT NULL$/,
      locked_at: /^timestamp(\(6\))? without time zone/,
      locked_by: /^(text|character varying(\(255\))?)( NOT NULL)?$/,
    },
    entries: entriesDdl(names),
    account: (user) => names.quotedName(user),
    home: 'CREATE SCHEMA IF NOT EXISTS',
    use: 'GRANT USAGE ON SCHEMA',
  };
}

/** The statements that create the table. The names of indexes are no longer than its own: PostgreSQL would cut them, and skip all but the first. */
export function entriesDdl(names: TableNames): string[] {
  const table = names.quoted('_entries');
  const index = (what: string): string => names.quotedName(`${names.table}_by_${what}`);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (
  digest VARCHAR(43) NOT NULL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  id TEXT NOT NULL,
  kind VARCHAR(64) NOT NULL,
  version VARCHAR(255) NOT NULL,
  slot VARCHAR(43) UNIQUE,
  job VARCHAR(255),
  place BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  body TEXT NOT NULL
)`,
    `CREATE INDEX IF NOT EXISTS ${index('lock')} ON ${table} (name, kind, place)`,
    `CREATE INDEX IF NOT EXISTS ${index('job')} ON ${table} (job) WHERE job IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS ${index('end')} ON ${table} (expires_at)`,
  ];
}

/**
 * All SQL for a store whose user may create nothing. It can be run again.
 *
 * @throws SchedulerLockConfigError if a name is invalid
 */
export const postgresSetup = (options: SqlStoreOptions & SetupOptions): string =>
  setupText(postgresDdl(postgresNames(options)), options);

/**
 * Makes a statement fail when it has waited {@link LOCK_WAIT} for a lock. All in one statement, which sets the limit for its transaction:
 * the store has no session in which to set a limit.
 */
export function withLockTimeout(statement: string): string {
  return `DO $migration$ BEGIN PERFORM set_config('lock_timeout', '${LOCK_WAIT}s', true); ${statement}; END $migration$`;
}
