export { RedisLockStore, type RedisLockStoreOptions } from './redis-lock.store.js';
export type { RedisClient, RedisConnectionOptions, RedisConnectionSource } from './connection-options.js';
export { nodeRedis } from './node-redis.js';
export type { NodeRedisClient } from './node-redis-kind.js';
