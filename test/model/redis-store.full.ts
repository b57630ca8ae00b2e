import { afterAll, beforeAll, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { stateKey } from '../../lib/stores/redis/keys.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { agreesWithModel, type StoreSubject } from './support/store-commands.js';

let server: RedisServer;
let clients: [Redis, Redis, Redis];

beforeAll(async () => {
  server = await provideRedis();
  clients = [new Redis(server.url), new Redis(server.url), new Redis(server.url)];
}, 60_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await server.stop();
});

async function redis(): Promise<StoreSubject> {
  const prefix = uniquePrefix('model');
  const used = new Set<string>();
  const lock = (name: string): string => `${prefix}${name}:lock`;
  const state = (name: string): string => stateKey(lock(name), '');
  const key = (name: string): string => {
    used.add(name);
    return lock(name);
  };
  const make = (client: Redis): RedisLockStore => new RedisLockStore(client, { key });
  const [client, second, third] = clients;
  const stores = [make(client), make(second), make(third)] as const;
  await Promise.all(stores.map((store) => store.init()));
  // Calls in flight keep their order only if the server has the scripts: one that has to be sent in full comes later.
  const warmUp = { name: 'warm-up', token: 'warm-up', ttl: 1_000, holder: 'warm-up', fencingToken: 0 };
  await stores[0].acquire(warmUp);
  await stores[0].extend([warmUp]);
  await stores[0].release(warmUp);
  const forgetAll = async (): Promise<void> => {
    const keys = [...used].flatMap((name) => [lock(name), state(name)]);
    if (keys.length > 0) await client.del(...keys);
  };
  return {
    stores: [...stores],
    expires: 'one',
    async expire(names) {
      for (const name of names) {
        // Time itself ends the lease, only sooner.
        await client.pexpire(lock(name), 1);
        await until(async () => (await client.exists(lock(name))) === 0, { interval: 1 });
      }
    },
    evict: async (name) => void (await client.del(state(name))),
    forgetAll,
    async close() {
      await forgetAll();
      await Promise.all(stores.map((store) => store.close()));
    },
  };
}

test('the Redis store answers as the model, whatever is called in whatever order', async () => {
  await agreesWithModel(redis, { numRuns: 150, maxCommands: 60, evicts: true });
});
