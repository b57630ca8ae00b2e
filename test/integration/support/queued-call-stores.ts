import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { type LockStore, MemoryLockStore } from '../../../lib/index.js';
import { MongoLockStore } from '../../../lib/stores/mongo/index.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import { DATABASES } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { isThereMongo, provideMongo, testMongo } from '../../support/mongo-server.js';
import { provideRedis } from '../../support/redis-server.js';

/** What the instances of a fleet share. */
export interface QueuedCallFleet {
  /** A store of one instance. */
  store(): LockStore;
  stop(): Promise<void>;
}

/** One for all tests of a file. */
function shared<T extends { stop(): Promise<void> }>(provide: () => Promise<T>): () => Promise<T> {
  let provided: Promise<T> | undefined;
  afterAll(async () => (await provided)?.stop());
  return () => (provided ??= provide());
}

const redis = shared(provideRedis);

const mongo = shared(provideMongo);

async function openMongo(): Promise<QueuedCallFleet> {
  const client = testMongo((await mongo()).url);
  const collection = uniqueTable('queued');
  const drop = async (): Promise<void> => {
    // Where nothing was kept, there is none.
    for (const name of [collection, `${collection}_entries`])
      await client.db().collection(name).deleteMany({});
    await client.close();
  };
  return { store: () => new MongoLockStore(client, { collection }), stop: drop };
}

/** Every store that keeps queued calls, empty for each fleet. */
export const QUEUED_CALL_STORES: readonly (readonly [name: string, open: () => Promise<QueuedCallFleet>])[] =
  [
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
        const { url } = await redis();
        const keyPrefix = `queued-calls-${randomUUID()}`;
        return { store: () => new RedisLockStore(url, { keyPrefix }), stop: async () => undefined };
      },
    ],
    ...DATABASES.map((database): (typeof QUEUED_CALL_STORES)[number] => {
      const server = shared(() => database.provide());
      const open = async (): Promise<QueuedCallFleet> => {
        const pool = database.pool((await server()).url);
        const table = uniqueTable('queued');
        const drop = async (): Promise<void> => {
          for (const each of ['', '_entries'].map((end) => table + end))
            await pool.write(`DROP TABLE IF EXISTS ${each}`);
          await pool.end();
        };
        return { store: () => pool.store({ table }), stop: drop };
      };
      return [database.name, open];
    }),
    ...((await isThereMongo('queued calls on MongoDB')) ? [['MongoDB', openMongo] as const] : []),
  ];
