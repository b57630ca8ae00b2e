export { RedisLockStore, type RedisLockStoreOptions } from './redis-lock.store.js';
export type { RedisClient, RedisConnectionOptions, RedisConnectionSource } from './connection-options.js';
