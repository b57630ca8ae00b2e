import { LOCK_WAIT } from '../sql/dialect.js';
import type { TableDdl } from '../sql/sql-table.js';
import { type SqlStoreOptions, TableNames } from '../sql/table-name.js';

/** PostgreSQL cuts longer names. */
const NAME_BYTES = 63;

/** @throws SchedulerLockConfigError for an invalid name */
export const postgresNames = (options: SqlStoreOptions): TableNames =>
  new TableNames(options, { quote: '"', maxLength: NAME_BYTES });

/** The SQL that creates a table, or makes one usable. Each statement can be repeated. */
export function postgresDdl(table: string): TableDdl {
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
    // ShedLock may create the table at the same moment, without our columns.
    creation: [creation, addition],
    addition: () => addition,
    widening: `ALTER TABLE ${table} ALTER COLUMN name TYPE VARCHAR(255)`,
    fits: {
      name: /^(text|character varying)/,
      lock_until: /^timestamp(\(6\))? without time zone NOT NULL$/,
      locked_at: /^timestamp(\(6\))? without time zone/,
      locked_by: /^(text|character varying(\(255\))?)( NOT NULL)?$/,
    },
  };
}

/**
 * Makes a statement fail when it has waited {@link LOCK_WAIT} for a lock. All in one statement, which sets the limit for its transaction:
 * the store has no session in which to set a limit.
 */
export function withLockTimeout(statement: string): string {
  return `DO $migration$ BEGIN PERFORM set_config('lock_timeout', '${LOCK_WAIT}s', true); ${statement}; END $migration$`;
}

export const SCHEMA: string = postgresDdl('shedlock')
  .creation.map((statement) => `${statement};\n`)
  .join('');
