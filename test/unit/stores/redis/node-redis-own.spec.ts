import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createClient } from 'redis';
import { NodeRedis } from '../../../../lib/stores/redis/node-redis.js';
import { nodeRedisOptions } from '../../../../lib/stores/redis/own-client.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { LOOPBACK } from '../../../support/machine.js';
import { type LocalRedis, startRedis } from '../../../support/local-redis.js';
import { until } from '../../../support/until.js';

/* The client that the library makes of a URL where only `redis` is installed. */

let redis: LocalRedis;
let client: NodeRedis;

beforeEach(async () => {
  redis = await startRedis();
  await redis.command('ACL', 'SETUSER', 'me', 'on', '>geheim', '~*', '&*', '+@all');
});

afterEach(async () => {
  client.disconnect();
  await redis.stop();
});

/** As the store makes it. */
const own = (target: string): NodeRedis => new NodeRedis(createClient(nodeRedisOptions(target)), true);

test('a URL is enough for a lease, in the database that it names', async () => {
  client = own(`redis://me:geheim@${LOOPBACK}:${redis.port}/1`);
  await client.connect();
  const store = new RedisLockStore(client);
  await store.init();
  const result = await store.acquire({ name: 'report', token: 'a', ttl: 60_000, holder: 'here' });
  expect(result).toMatchObject({ acquired: true });
  const keyspace = await client.info('keyspace');
  expect(keyspace).toMatch(/^db1:/m);
  await store.close();
});

test('a server that refuses writes, as an old primary does after a failover, is connected to anew', async () => {
  client = own(`redis://me:geheim@${LOOPBACK}:${redis.port}`);
  await client.connect();
  const [before] = await connections();
  expect(before).toBeDefined();
  const store = new RedisLockStore(client);
  await store.init();
  await redis.command('REPLICAOF', LOOPBACK, '1');
  const lease = { name: 'report', token: 'a', ttl: 60_000, holder: 'here' };
  await expect(store.acquire(lease)).rejects.toThrow('READONLY');
  await until(async () => !(await connections()).includes(before ?? ''), {
    message: 'the end of the connection',
  });
  await until(() => client.status === 'ready', { message: 'the client to be connected again' });
  await store.close();
});

/** The ids of the connections of the client. */
async function connections(): Promise<string[]> {
  const list = String(await redis.command('CLIENT', 'LIST'));
  return list
    .split('\n')
    .filter((line) => line.includes(' user=me '))
    .map((line) => /id=(\d+)/.exec(line)?.[1] ?? '');
}
