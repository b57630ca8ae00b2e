import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import { type LocalRedis, startRedis } from './redis-server.js';

/**
 * A Redis for the tests of one file alone: it is empty at the start of each.
 *
 * @param use is given a client before the first test
 */
export function ownRedis(use: (client: Redis) => void): void {
  let server: LocalRedis;
  let client: Redis;

  beforeAll(async () => {
    server = await startRedis();
    // Of ioredis, which keeps a timer for as long after each connection that it ends, and with it the process.
    client = new Redis(server.url, { disconnectTimeout: 100 });
    use(client);
  }, 60_000);

  beforeEach(() => client.flushall());

  afterAll(async () => {
    await client.quit();
    await server.stop();
  });
}
