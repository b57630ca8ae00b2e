import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { describeLockStore } from './cases/contract.js';
import { provideRedis, type RedisServer } from '../support/redis-server.js';
import { redisContract } from './support/redis-subject.js';

let server: RedisServer;

beforeAll(async () => {
  server = await provideRedis();
}, 60_000);

afterAll(() => server.stop());

/* With a `keyPrefix`, and with ioredis 5: redis-clients.full.ts. */

const contract = redisContract(() => new Redis(server.url));
afterAll(() => contract.close());
describeLockStore('RedisLockStore', contract.options, { describe, test });
