export { PostgresLockStore, type PostgresLockStoreOptions } from './postgres-lock.store.js';
export type { PostgresClient } from './postgres-dialect.js';
export { HISTORY_SCHEMA } from './history.js';
export { SCHEMA } from './schema.js';
