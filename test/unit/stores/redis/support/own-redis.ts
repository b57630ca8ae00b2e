import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisLockStore } from '../../../../../lib/stores/redis/index.js';
import { type LocalRedis, startRedis } from '../../../../support/local-redis.js';

/**
 * A Redis for the tests of one file alone, empty at the start of each test.
 *
 * @param use gets a client before the first test
 */
export function ownRedis(use: (client: Redis) => void): void {
  let server: LocalRedis;
  let client: Redis;

  beforeAll(async () => {
    server = await startRedis();
    // After ioredis ends a connection, a timer of this length keeps the process alive.
    client = new Redis(server.url, { disconnectTimeout: 100 });
    use(client);
  }, 60_000);

  beforeEach(() => client.flushall());

  afterAll(async () => {
    await client.quit();
    await server.stop();
  });
}

/**
 * The same, with a store whose locks have the keys `scheduler:<name>:lock`.
 *
 * @param use gets the client and a new store before each test
 */
export function ownStore(use: (client: Redis, store: RedisLockStore) => void): void {
  let client: Redis;
  let store: RedisLockStore;

  ownRedis((own) => (client = own));

  beforeEach(async () => {
    store = new RedisLockStore(client, { key: (name) => `scheduler:${name}:lock` });
    await store.init();
    use(client, store);
  });

  afterEach(() => store.close());
}
