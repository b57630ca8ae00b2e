import { expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { guardedPids } from '../../support/child.js';
import { startRedisCluster, startRedisSentinel } from '../../faults/support/redis-topologies.js';
import { until } from '../../support/until.js';

test('a cluster serves all slots as soon as it is there', async () => {
  const cluster = await startRedisCluster();
  expect(cluster.nodes).toHaveLength(3);
  const client = new Cluster(cluster.nodes);
  const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`);
  await Promise.all(keys.map((key) => client.set(key, key)));
  const sizes = await Promise.all(cluster.servers.map((server) => server.command('DBSIZE')));
  expect(sizes.every((size) => Number(size) > 0)).toBe(true);
  client.disconnect();
  await cluster.stop();
  expect(guardedPids()).toEqual([]);
}, 30_000);

test('sentinels promote the replica when the master dies', async () => {
  const { name, sentinels, master, replica, stop } = await startRedisSentinel();
  const client = new Redis({ sentinels, name, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  await client.set('key', 'value');
  await master.kill();
  await until(async () => String(await replica.command('ROLE')).startsWith('master'), { interval: 20 });
  await client.set('key', 'again');
  await expect(replica.command('GET', 'key')).resolves.toBe('again');
  client.disconnect();
  await stop();
  expect(guardedPids()).toEqual([]);
}, 30_000);
