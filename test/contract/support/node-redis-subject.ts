import { type NodeRedisClient, nodeRedis } from '../../../lib/stores/redis/index.js';
import type { TestClient } from './redis-subject.js';

/** The members of all kinds of clients with which a test looks behind the store's back. */
interface Commands extends NodeRedisClient {
  del(key: string): Promise<unknown>;
  rPush(key: string, value: string): Promise<unknown>;
  hGetAll(key: string): Promise<Record<string, string>>;
  hSet(key: string, field: string, value: string): Promise<unknown>;
  destroy(): unknown;
}

/** A client of node-redis, as the contract wants one. It is connected by the store. */
export function nodeRedisSubject(client: object): TestClient {
  const given = client as Commands;
  return Object.assign(nodeRedis(given), {
    del: (key: string) => given.del(key),
    rpush: (key: string, value: string) => given.rPush(key, value),
    hgetall: async (key: string) => ({ ...(await given.hGetAll(key)) }),
    hset: (key: string, field: string, value: string) => given.hSet(key, field, value),
    disconnect: () => void given.destroy(),
  });
}
