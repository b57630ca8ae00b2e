import { scriptOf } from '../sql/setup.js';
import { OUR_COLUMNS } from '../sql/sql-table.js';
import { mysqlDdl, mysqlNames } from './schema.js';

export { MysqlLockStore, type MysqlLockStoreOptions } from './mysql-lock.store.js';
export type { MysqlClient } from './client.js';
/**
 * The SQL that creates the table of queued calls and histories, `shedlock_entries`, for teams with their own migrations (`migrate: false`). It can be
 * repeated.
 */
export const ENTRIES_SCHEMA: string = scriptOf(mysqlDdl(mysqlNames({})).entries);
/** The SQL that creates the table `shedlock`, for teams with their own migrations (`migrate: false`). It can be repeated. */
export const SCHEMA: string = scriptOf(mysqlDdl(mysqlNames({})).creation);
/**
 * The SQL that adds the missing columns to a table `shedlock` that ShedLock has created. It cannot be repeated, as MySQL has no
 * `ADD COLUMN IF NOT EXISTS`.
 */
export const SHEDLOCK_ADDITION: string = scriptOf([mysqlDdl(mysqlNames({})).addition(OUR_COLUMNS)]);
