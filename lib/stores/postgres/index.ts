import { ENTRIES_SCHEMA as entriesSchema } from './entries.js';
import { SCHEMA as schema } from './schema.js';

// The texts are named here, so that the types of users lead to no types of the statements.
export { PostgresLockStore, type PostgresLockStoreOptions } from './postgres-lock.store.js';
export type { PostgresClient } from './client.js';
/**
 * The SQL that creates the table of queued calls and histories, `shedlock_entries`, for teams with their own migrations (`migrate: false`). It can be
 * repeated.
 */
export const ENTRIES_SCHEMA: string = entriesSchema;
/**
 * The SQL that creates the table `shedlock`, or adds the missing columns to one that ShedLock has created, for teams
 * with their own migrations (`migrate: false`). It can be repeated.
 */
export const SCHEMA: string = schema;
