import { SchedulerLockConfigError } from '../../base/errors.js';
import type { RedisClient } from './connection-options.js';
import { type NodeRedisClient, nodeRedisKind } from './node-redis-kind.js';
import type { AnyClient } from './node-redis-state.js';
import { NodeRedis } from './node-redis.js';

const ADAPTERS = new WeakMap<object, NodeRedis>();

/**
 * A client of node-redis (the package `redis`, 5 or 6) as the store takes it: of `createClient()`, `createCluster()` or
 * `createSentinel()`. The store also takes the client itself; this function is for those who want to be explicit, or to check early.
 *
 * One that is not connected yet is connected when the store starts. Give it `disableOfflineQueue: true` (in `defaults` of a Cluster,
 * in `nodeClientOptions` of Sentinels): then nothing waits in it behind an outage. As long as the store is open it listens for
 * `error`, so an outage does not end the process. It never closes the client.
 *
 * @throws SchedulerLockConfigError if it is no such client
 */
export function nodeRedis(client: NodeRedisClient): RedisClient {
  const known = ADAPTERS.get(client);
  if (known !== undefined) return known;
  if (nodeRedisKind(client) === undefined) {
    throw new SchedulerLockConfigError([
      'nodeRedis(): this is no client of node-redis 5 or 6. Give what createClient(), createCluster() or createSentinel() of the ' +
        'package `redis` returned.',
    ]);
  }
  const adapter = new NodeRedis(client as AnyClient);
  ADAPTERS.set(client, adapter);
  return adapter;
}
