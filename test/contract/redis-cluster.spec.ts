import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Cluster } from 'ioredis';
import { stateKey } from '../../lib/stores/redis/keys.js';
import { describeLockStore } from '../../lib/testing/index.js';
import { type RedisCluster, startRedisCluster } from '../faults/support/redis-topologies.js';
import { redisContract } from './support/redis-subject.js';

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

    describeLockStore('RedisLockStore', contract.options, { describe, test });

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
