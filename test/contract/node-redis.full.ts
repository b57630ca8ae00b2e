import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient, createCluster, createSentinel } from 'redis';
import {
  createClient as createClient5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis5';
import { describeLockStore } from './cases/contract.js';
import {
  type RedisCluster,
  type RedisSentinel,
  startRedisCluster,
  startRedisSentinel,
} from '../faults/support/redis-topologies.js';
import { provideRedis, type RedisServer } from '../support/redis-server.js';
import { nodeRedisSubject } from './support/node-redis-subject.js';
import { redisContract } from './support/redis-subject.js';

let server: RedisServer;
let cluster: RedisCluster;
let sentinel: RedisSentinel;

beforeAll(async () => {
  [server, cluster, sentinel] = await Promise.all([
    provideRedis(),
    startRedisCluster(),
    startRedisSentinel(),
  ]);
}, 120_000);

afterAll(() => Promise.all([server.stop(), cluster.stop(), sentinel.stop()]));

const clusterOptions = (more: object = {}): Parameters<typeof createCluster>[0] => ({
  rootNodes: cluster.nodes.map((socket) => ({ socket })),
  defaults: { disableOfflineQueue: true },
  ...more,
});

const sentinelOptions = (more: object = {}): Parameters<typeof createSentinel>[0] => ({
  name: sentinel.name,
  sentinelRootNodes: sentinel.sentinels,
  nodeClientOptions: { disableOfflineQueue: true },
  ...more,
});

const options = (more: object = {}): Parameters<typeof createClient>[0] => ({
  url: server.url,
  disableOfflineQueue: true,
  ...more,
});

/** All cases. */
const WHOLE: [string, () => object][] = [
  ['node-redis 6', () => createClient(options())],
  ['node-redis 5', () => createClient5(options() as Parameters<typeof createClient5>[0])],
  ['node-redis 6, a Cluster', () => createCluster(clusterOptions())],
];

/** The rules whose answers have numbers, texts, lists and nothing, and the hints: each kind of answer, each way of sending. */
const SOME = /^rule (2|9)\.|hint/i;
const VARIANTS: [string, () => object][] = [
  ['node-redis 6, RESP 2', () => createClient(options({ RESP: 2 }))],
  ['node-redis 6, keyPrefix app:', () => createClient(options({ keyPrefix: 'app:' }))],
  ['node-redis 6, keyPrefix {app}:', () => createClient(options({ keyPrefix: '{app}:' }))],
  ['node-redis 6, with the offline queue', () => createClient({ url: server.url })],
  [
    'node-redis 6, answers as buffers',
    () => createClient(options()).withTypeMapping({ 36: Buffer, 43: Buffer }),
  ],
  ['node-redis 5, RESP 3', () => createClient5({ url: server.url, RESP: 3, disableOfflineQueue: true })],
  ['node-redis 5, a Cluster', () => createCluster5(clusterOptions() as Parameters<typeof createCluster5>[0])],
  ['node-redis 6, a Cluster, keyPrefix app:', () => createCluster(clusterOptions({ keyPrefix: 'app:' }))],
  ['node-redis 6, a Cluster, RESP 2', () => createCluster(clusterOptions({ RESP: 2 }))],
  [
    'node-redis 6, a Cluster that connects when it must',
    () => createCluster(clusterOptions({ minimizeConnections: true })),
  ],
  ['node-redis 6, Sentinels', () => createSentinel(sentinelOptions())],
  [
    'node-redis 6, Sentinels, keyPrefix app:, replicas',
    () => createSentinel(sentinelOptions({ keyPrefix: 'app:', replicaPoolSize: 1 })),
  ],
  [
    'node-redis 5, Sentinels',
    () => createSentinel5(sentinelOptions() as Parameters<typeof createSentinel5>[0]),
  ],
];

for (const [what, connect] of WHOLE) {
  describe(what, () => {
    const contract = redisContract(() => nodeRedisSubject(connect()));
    afterAll(() => contract.close());
    describeLockStore('RedisLockStore', contract.options, { describe, test });
  });
}

for (const [what, connect] of VARIANTS) {
  describe(what, () => {
    const contract = redisContract(() => nodeRedisSubject(connect()));
    afterAll(() => contract.close());
    const some = (sentence: string, run: () => Promise<void>): void => {
      if (SOME.test(sentence)) test(sentence, run);
    };
    describeLockStore('RedisLockStore', contract.options, { describe, test: some });
  });
}

test('the two versions of node-redis are really two', () => {
  expect(createClient5).not.toBe(createClient);
});
