import { randomUUID } from 'node:crypto';
import { type LockStore, MemoryLockStore } from '../../../lib/index.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import { DATABASES } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { provideRedis } from '../../support/redis-server.js';

/** What the instances of a fleet share. */
export interface QueuedCallFleet {
  /** A store of one instance. */
  store(): LockStore;
  stop(): Promise<void>;
}

/** Every store that keeps queued calls, empty for each fleet. */
export const QUEUED_CALL_STORES: readonly [name: string, open: () => Promise<QueuedCallFleet>][] = [
  [
    'memory',
    async () => {
      const store = new MemoryLockStore();
      return { store: () => store, stop: async () => undefined };
    },
  ],
  [
    'Redis',
    async () => {
      const server = await provideRedis();
      const keyPrefix = `queued-calls-${randomUUID()}`;
      return { store: () => new RedisLockStore(server.url, { keyPrefix }), stop: () => server.stop() };
    },
  ],
  ...DATABASES.map((database): (typeof QUEUED_CALL_STORES)[number] => [
    database.name,
    async () => {
      const server = await database.provide();
      const pool = database.pool(server.url);
      const table = uniqueTable('queued');
      const drop = async (): Promise<void> => {
        for (const each of ['', '_queued', '_runs', '_instances'].map((end) => table + end))
          await pool.write(`DROP TABLE IF EXISTS ${each}`);
        await pool.end();
        await server.stop();
      };
      return { store: () => pool.store({ table }), stop: drop };
    },
  ]),
];
