import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Cluster } from 'ioredis';
import { stateKey } from '../../lib/stores/redis/keys.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { describeLockStore } from './cases/contract.js';
import { type RedisCluster, startRedisCluster } from '../faults/support/redis-topologies.js';
import { uniquePrefix } from '../support/redis-server.js';
import { oncePerRule, redisContract } from './support/redis-subject.js';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
}, 60_000);

afterAll(() => cluster.stop());

for (const prefix of [undefined, 'app:', '{app}:']) {
  describe(`on a cluster of three masters, ${prefix === undefined ? 'no keyPrefix' : `keyPrefix ${prefix}`}`, () => {
    const connect = (): Cluster =>
      new Cluster(cluster.nodes, prefix === undefined ? {} : { keyPrefix: prefix });
    const contract = redisContract(connect);
    afterAll(() => contract.close());

    const register = prefix === '{app}:' ? oncePerRule(test) : test;
    describeLockStore('RedisLockStore', contract.options, { describe, test: register });

    test('runs, misses and instances are remembered', async () => {
      const client = connect();
      const store = new RedisLockStore(client, { keyPrefix: uniquePrefix('history') });
      await store.init();
      expect(await store.history.init()).toBeUndefined();
      const kept = { count: 10, age: 60_000 };
      // Of several locks, so that all masters are asked.
      const names = Array.from({ length: 9 }, (_, i) => `job-${i}`);
      const runs = names.map(async (name, tick) => {
        const request = { name, job: name, token: name, ttl: 60_000, holder: 'here', tick, history: true };
        const grant = await store.acquire(request);
        if (!grant.acquired) throw new Error(grant.reason);
        const lease = { ...request, fencingToken: grant.fencingToken };
        const record = { kept, duration: tick };
        expect(await store.release(lease, { outcome: 'failed', record })).toEqual({ released: true });
        const miss = { name, job: name, instance: 'here', reason: 'held', count: 1, kept, tick: tick + 1 };
        expect(await store.history.miss(miss)).toMatchObject({ missed: true });
        const entries = await store.history.entries({ name, limit: 9 });
        expect(entries.map(({ type }) => type).sort()).toEqual(['miss', 'run']);
      });
      await Promise.all(runs);
      const lists = { leads: [], next: [], last: [], jobs: [] };
      const beat = { instance: 'here', startedAt: 0, every: 1, catalogue: 'a', left: false, ...lists };
      expect(await store.history.beat(beat)).toMatchObject({ known: true });
      expect(await store.history.instances()).toMatchObject([{ instance: 'here' }]);
      await store.close();
      client.disconnect();
    });

    test('lock and state share a slot, and different locks use all masters unless a tag ties them', async () => {
      const slots = new Set<number>();
      for (let i = 0; i < 60; i++) {
        // The slot is a checksum: names that differ in their last digit only are close to each other.
        const lock = `scheduler:${i ** 5}-job-${i}:lock`;
        const keys = [lock, stateKey(lock, prefix ?? '')].map((key) => `${prefix ?? ''}${key}`);
        const [slot, stateSlot] = await Promise.all(
          keys.map(async (key) => cluster.servers[0]?.command('CLUSTER', 'KEYSLOT', key)),
        );
        expect(stateSlot).toBe(slot);
        slots.add(Number(slot));
      }
      const masters = new Set([...slots].map((slot) => Math.trunc(slot / (16_384 / 3))));
      expect(masters.size).toBe(prefix === '{app}:' ? 1 : 3);
    });
  });
}
