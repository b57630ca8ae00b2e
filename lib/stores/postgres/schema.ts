import { quotedTable, type SqlStoreOptions } from '../sql/table-name.js';

/** PostgreSQL cuts longer names. */
const NAME_BYTES = 63;

/** Schema and table, quoted. */
export function postgresTable(options: SqlStoreOptions): string {
  return quotedTable(options, '"', NAME_BYTES);
}

/** The statements that create the table, or add our columns to one of ShedLock's. Each can be repeated. */
export function postgresMigration(table: string, lacks: 'table' | 'columns'): readonly string[] {
  const addition = `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS fencing_token BIGINT, ADD COLUMN IF NOT EXISTS job_state JSONB`;
  if (lacks === 'columns') return [addition];
  const creation = `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(255) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP NOT NULL,
  locked_at TIMESTAMP NOT NULL,
  locked_by VARCHAR(255) NOT NULL,
  fencing_token BIGINT,
  job_state JSONB
)`;
  // A ShedLock may create it at the same moment.
  return [creation, addition];
}

/**
 * The SQL that creates the table `shedlock`, or adds the missing columns to one that ShedLock has created, for teams
 * with their own migrations (`migrate: false`). It can be repeated.
 */
export const SCHEMA: string = postgresMigration('shedlock', 'table')
  .map((statement) => `${statement};\n`)
  .join('');
