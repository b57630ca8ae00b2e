import { scriptOf } from '../sql/setup.js';
import { postgresDdl, postgresNames } from './schema.js';

export { PostgresLockStore, type PostgresLockStoreOptions } from './postgres-lock.store.js';
export type { PostgresClient } from './client.js';
/**
 * The SQL that creates the table of queued calls and histories, `shedlock_entries`, for teams with their own migrations (`migrate: false`). It can be
 * repeated.
 */
export const ENTRIES_SCHEMA: string = scriptOf(postgresDdl(postgresNames({})).entries);
/**
 * The SQL that creates the table `shedlock`, or adds the missing columns to one that ShedLock has created, for teams
 * with their own migrations (`migrate: false`). It can be repeated.
 */
export const SCHEMA: string = scriptOf(postgresDdl(postgresNames({})).creation);
