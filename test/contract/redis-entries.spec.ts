import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { RedisEntries } from '../../lib/stores/redis/entries.js';
import { OF_QUEUE } from '../../lib/stores/redis/keys.js';
import { LeaseCommands } from '../../lib/stores/redis/lease-commands.js';
import { RedisConnection } from '../../lib/stores/redis/redis-connection.js';
import { describeLockEntries } from '../../lib/testing/port/port-contract.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';

let server: RedisServer;
let clients: Redis[];

beforeAll(async () => {
  server = await provideRedis();
  clients = [new Redis(server.url), new Redis(server.url)];
}, 60_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

const now = Date.now.bind(Date);

describeLockEntries(
  'the entries of RedisLockStore',
  {
    create: async () => {
      const prefix = uniquePrefix('entries');
      const connections = clients.map((client) => new RedisConnection(client));
      for (const connection of connections) await connection.open();
      const [entries, ...others] = connections.map((connection) => {
        const commands = new LeaseCommands(connection, (name) => `${prefix}:${name}:lock`);
        return new RedisEntries(connection, commands, OF_QUEUE, `${prefix}:queued`);
      });
      const close = async (): Promise<void> => {
        for (const connection of connections) await connection.close();
      };
      return { entries: entries!, others, close };
    },
    wait: (ms) => sleep(ms),
    skewInstanceClock: (ms) => {
      Date.now = ms === 0 ? now : () => now() + ms;
    },
  },
  { describe, test },
);
