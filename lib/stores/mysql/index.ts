export { MysqlLockStore, type MysqlLockStoreOptions } from './mysql-lock.store.js';
export type { MysqlClient } from './client.js';
export { HISTORY_SCHEMA } from './history.js';
export { SCHEMA, SHEDLOCK_ADDITION } from './schema.js';
