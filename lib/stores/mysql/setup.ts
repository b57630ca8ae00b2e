import { type SetupFacts, type SetupOptions, setupText } from '../sql/setup.js';
import { OUR_COLUMNS } from '../sql/sql-table.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { entriesDdl } from './entries.js';
import { mysqlDdl, mysqlNames } from './schema.js';

/** The table as ShedLock's README creates it. */
const shedlockDdl = (table: string): string => `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP(3) NOT NULL,
  locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  locked_by VARCHAR(255) NOT NULL
)`;

/**
 * All SQL for a store whose user may create nothing. It can be run again, except for the columns that it adds to a table of ShedLock.
 *
 * @throws SchedulerLockConfigError if a name is invalid
 */
export function mysqlSetup({ user, shedlock = false, ...options }: SqlStoreOptions & SetupOptions): string {
  const names = mysqlNames(options);
  const table = names.quoted();
  const ours = mysqlDdl(table);
  const locks = shedlock ? [shedlockDdl(table), ours.addition(OUR_COLUMNS)] : ours.creation;
  return setupOf(names, { user, locks });
}

export const setupOf = (names: TableNames, facts: SetupFacts): string =>
  setupText(names, facts, {
    creation: (table) => mysqlDdl(table).creation,
    entries: entriesDdl,
    // A user without rights on a table does not see that the table exists.
    note: (locks, table) =>
      locks.join() === mysqlDdl(table).creation.join()
        ? `If ShedLock has made this table, run this besides, once: ${mysqlDdl(table).addition(OUR_COLUMNS)};`
        : undefined,
    account,
    home: 'CREATE DATABASE IF NOT EXISTS',
  });

/** `app`, `app@10.%`, or what CURRENT_USER() says. */
function account(user: string): string {
  const [, name = user, host = '%'] = /^(.*)@([^@]*)$/s.exec(user) ?? [];
  const text = (part: string): string => `'${part.replaceAll(/['\\]/g, '\\$&')}'`;
  return `${text(name)}@${text(host)}`;
}
