import { ENTRIES_SCHEMA as entriesSchema } from './entries.js';
import { SCHEMA as schema, SHEDLOCK_ADDITION as addition } from './schema.js';

// The texts are named here, so that the types of users lead to no types of the statements.
export { MysqlLockStore, type MysqlLockStoreOptions } from './mysql-lock.store.js';
export type { MysqlClient } from './client.js';
/**
 * The SQL that creates the table of queued calls and histories, `shedlock_entries`, for teams with their own migrations (`migrate: false`). It can be
 * repeated.
 */
export const ENTRIES_SCHEMA: string = entriesSchema;
/** The SQL that creates the table `shedlock`, for teams with their own migrations (`migrate: false`). It can be repeated. */
export const SCHEMA: string = schema;
/**
 * The SQL that adds the missing columns to a table `shedlock` that ShedLock has created. It cannot be repeated, as MySQL has no
 * `ADD COLUMN IF NOT EXISTS`.
 */
export const SHEDLOCK_ADDITION: string = addition;
