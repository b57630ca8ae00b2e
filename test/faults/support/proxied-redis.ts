import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type LocalRedis, startRedis } from '../../support/local-redis.js';
import { startProxy, type TcpProxy } from '../proxy/tcp-proxy.js';
import { loadScripts, lockKey } from './redis-view.js';

/** A Redis of a file's own, and a way to it that can be cut, held up and listened to. */
export class ProxiedRedis {
  server!: LocalRedis;
  /** Another one for each test. */
  proxy!: TcpProxy;

  /** Whether nobody has the lock, looked at past the library. */
  async free(): Promise<boolean> {
    return (await this.server.command('EXISTS', lockKey('job'))) === 0;
  }
}

/**
 * To be called once at the top of a file, after `faultSuite`. Before each test the server has nothing but the scripts of the
 * library, so that each call is one request.
 */
export function proxiedRedis(): ProxiedRedis {
  const redis = new ProxiedRedis();
  beforeAll(async () => {
    redis.server = await startRedis();
  });
  beforeEach(async () => {
    await redis.server.command('FLUSHALL');
    await loadScripts(redis.server);
    redis.proxy = await startProxy(redis.server);
  });
  afterEach(() => redis.proxy.stop());
  afterAll(() => redis.server.stop());
  return redis;
}
