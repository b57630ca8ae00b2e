import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
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
