import { type SetupFacts, type SetupOptions, setupText } from '../sql/setup.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { entriesDdl } from './entries.js';
import { postgresDdl, postgresNames } from './schema.js';

/** The table as ShedLock's README creates it. */
const shedlockDdl = (table: string): string => `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP NOT NULL,
  locked_at TIMESTAMP NOT NULL,
  locked_by VARCHAR(255) NOT NULL
)`;

/**
 * All SQL for a store whose user may create nothing. It can be run again.
 *
 * @throws SchedulerLockConfigError if a name is invalid
 */
export function postgresSetup({
  user,
  shedlock = false,
  ...options
}: SqlStoreOptions & SetupOptions): string {
  const names = postgresNames(options);
  const [create = '', add = ''] = postgresDdl(names.quoted()).creation;
  return setupOf(names, { user, locks: [shedlock ? shedlockDdl(names.quoted()) : create, add] });
}

export const setupOf = (names: TableNames, facts: SetupFacts): string =>
  setupText(names, facts, {
    creation: (table) => postgresDdl(table).creation,
    entries: entriesDdl,
    account: (user) => names.quotedName(user),
    home: 'CREATE SCHEMA IF NOT EXISTS',
    use: 'GRANT USAGE ON SCHEMA',
  });
