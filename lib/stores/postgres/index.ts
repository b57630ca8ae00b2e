export { PostgresLockStore, type PostgresLockStoreOptions } from './postgres-lock.store.js';
export type { PostgresClient } from './postgres-dialect.js';
export { SCHEMA } from './schema.js';
