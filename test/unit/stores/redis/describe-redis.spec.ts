import { expect, test } from '@jest/globals';
import { describeRedis } from '../../../../lib/stores/redis/redact.js';
import type { RedisConnectionSource } from '../../../../lib/stores/redis/connection-options.js';

const client = (options: object | undefined, isCluster = false) =>
  ({
    status: 'ready',
    evalsha() {},
    eval() {},
    connect() {},
    on() {},
    off() {},
    isCluster,
    options,
  }) as never;

test.each<[what: string, source: RedisConnectionSource, place: string]>([
  ['a URL', 'redis://127.0.0.1:6380', 'Redis 127.0.0.1:6380'],
  ['a URL without a port', 'rediss://cache.example.org', 'Redis cache.example.org:6379'],
  ['a URL with a password', 'redis://user:s3cret@cache:6379/2', 'Redis cache:6379, database 2'],
  ['a URL with a password alone', 'redis://:s3cret%40x@cache', 'Redis cache:6379'],
  ['a URL with what may be one behind it', 'redis://cache?password=s3cret', 'Redis cache:6379'],
  ['an IPv6 address', 'redis://[::1]:6379', 'Redis [::1]:6379'],
  ['a socket', '/run/redis.sock', 'Redis /run/redis.sock'],
  ['a socket with a password behind it', '/run/redis.sock?password=s3cret', 'Redis /run/redis.sock'],
  ['options', { host: 'cache', port: 7000, password: 's3cret', db: 3 }, 'Redis cache:7000, database 3'],
  ['options that say nothing', {}, 'Redis localhost:6379'],
  ['options with a socket', { path: '/run/redis.sock' }, 'Redis /run/redis.sock'],
  ['a host that is a URL', { host: 'redis://:s3cret@cache' }, 'Redis'],
  ['a host with what may be a password behind it', { host: 'cache?password=s3cret' }, 'Redis'],
  ['a path that is a URL', { path: 'redis://:s3cret@cache' }, 'Redis'],
  ['Sentinels', { sentinels: [{ host: 'a' }], name: 'main' }, 'Redis, the master "main" of Sentinel'],
  ['a client', client({ host: 'cache', port: 6379, password: 's3cret' }), 'Redis cache:6379'],
  ['a client of another make', client(undefined), 'Redis'],
  ['a Cluster', client({ redisOptions: { password: 's3cret' } }, true), 'a Redis Cluster'],
])('%s', (_what, source, place) => {
  expect(describeRedis(source)).toBe(place);
});
