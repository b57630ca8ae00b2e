import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { Redis as Redis5, type RedisOptions as RedisOptions5 } from 'ioredis5';
import { connectionProblem } from '../../../../lib/stores/redis/connection-options.js';

type Known = keyof RedisOptions | keyof RedisOptions5;

/** Each option of both versions: the compiler sees to it that none is missing, and none is made up. */
const KNOWN = {
  host: 'localhost',
  port: 6379,
  path: '/run/redis.sock',
  family: 4,
  username: 'u',
  password: 'p',
  db: 0,
  tls: {},
  keyPrefix: 'app:',
  connectionName: 'c',
  sentinels: [],
  name: 'main',
  role: 'master',
  sentinelUsername: 'u',
  sentinelPassword: 'p',
  sentinelRetryStrategy: null,
  sentinelReconnectStrategy: null,
  preferredSlaves: null,
  sentinelCommandTimeout: 1,
  enableTLSForSentinelMode: true,
  sentinelTLS: {},
  natMap: {},
  updateSentinels: true,
  sentinelMaxConnections: 1,
  failoverDetector: true,
  Connector: null,
  retryStrategy: null,
  reconnectOnError: null,
  commandTimeout: 1,
  blockingTimeout: 1,
  blockingTimeoutGrace: 1,
  socketTimeout: 1,
  connectTimeout: 1,
  disconnectTimeout: 1,
  keepAlive: 1,
  noDelay: true,
  disableClientInfo: true,
  clientInfoTag: 't',
  autoResubscribe: true,
  autoResendUnfulfilledCommands: true,
  readOnly: false,
  stringNumbers: false,
  protocol: 3,
  replyMapping: 'legacy',
  monitor: false,
  maxRetriesPerRequest: 0,
  maxLoadingRetryTime: 1,
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
  offlineQueue: true,
  commandQueue: true,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  lazyConnect: true,
  scripts: {},
  himportFieldsets: [],
  showFriendlyErrorStack: true,
} satisfies Record<Known, unknown>;

const clients = [new Redis({ lazyConnect: true }), new Redis5({ lazyConnect: true })];
afterAll(() => clients.forEach((client) => client.disconnect()));

describe('options of a connection', () => {
  it.each(Object.entries(KNOWN))('may be ioredis: %s', (name, value) => {
    expect(connectionProblem({ [name]: value })).toBeUndefined();
  });

  it.each(clients.map((client, index) => [6 - index, client.options]))(
    'may be those that a client of ioredis %i has',
    (_version, options) => {
      expect(connectionProblem({ ...(options as object) })).toBeUndefined();
    },
  );

  it.each<[options: object, advice: string]>([
    [
      { url: 'redis://:hunter2@host' },
      "connection.url: ioredis has no such option. Give the URL itself: connection: 'redis://host:6379'.",
    ],
    [{ hots: 'x' }, 'connection.hots: ioredis has no such option. Did you mean `host`?'],
    [{ hostname: 'x' }, 'connection.hostname: ioredis has no such option. Did you mean `host`?'],
    [{ user: 'x' }, 'connection.user: ioredis has no such option. Did you mean `username`?'],
    [{ pass: 'hunter2' }, 'connection.pass: ioredis has no such option. Did you mean `password`?'],
    [{ database: 2 }, 'connection.database: ioredis has no such option. Did you mean `db`?'],
    [{ keyprefix: 'a:' }, 'connection.keyprefix: ioredis has no such option. Did you mean `keyPrefix`?'],
    [
      { socket: { host: 'x' } },
      'connection.socket: ioredis has no such option. It is one of node-redis: give `host` and `port` beside the others.',
    ],
    [
      { redisOptions: {} },
      'connection.redisOptions: ioredis has no such option. For a Cluster give a client: connection: new Cluster(nodes, options).',
    ],
    [{ host: 'x', isolation: 1 }, 'connection.isolation: ioredis has no such option. Leave it out.'],
    [{ toString: 1 }, 'connection.toString: ioredis has no such option. Leave it out.'],
    [{ db: -1 }, 'connection.db: -1 is no number of a database.'],
    [{ db: 'orders' }, 'connection.db: orders is no number of a database.'],
    [{ db: Number.NaN }, 'connection.db: NaN is no number of a database.'],
  ])('may not be %p', (options, problem) => {
    expect(connectionProblem(options)).toBe(problem);
    expect(problem).not.toContain('hunter2');
  });

  it('may be undefined, whatever they are', () => {
    expect(connectionProblem({ host: 'x', url: undefined, hots: undefined })).toBeUndefined();
  });
});

describe('the address of a Redis', () => {
  it.each([
    '/run/redis.sock',
    'redis://host',
    'redis://host/2',
    'rediss://user:secret@host:6379/',
    'redis://host?family=6',
  ])('may be %s', (source) => expect(connectionProblem(source)).toBeUndefined());

  it.each([
    ['//user:secret@host', 'this is not a URL'],
    ['redis://host:6379/2#x', 'a "#", "/" or "?" cuts'],
    ['redis://user:6/secret@host:6379', 'a "#", "/" or "?" cuts'],
    ['redis://user:6?secret@host:6379', 'a "#", "/" or "?" cuts'],
    ['redis:///2', 'the Redis URL names no host'],
    ['redis://host/jobs', 'the path of a Redis URL'],
  ])('may not be %s', (source, expected) => {
    expect(connectionProblem(source)).toContain(`connection: ${expected}`);
  });

  it.each([{ port: 1 }, { port: 65_535 }, { port: '6379' }, { db: 0 }, { db: '15' }, { host: 'h' }])(
    'may be %j',
    (source) => expect(connectionProblem(source)).toBeUndefined(),
  );

  it.each([
    [{ port: 0 }, 'port: 0'],
    [{ port: 65_536 }, 'port: 65536'],
    [{ port: 1.5 }, 'port: 1.5'],
    [{ db: -1 }, 'db: -1'],
    [{ db: 0.5 }, 'db: 0.5'],
    [{ host: '' }, 'host: expected'],
    [{ host: 1 }, 'host: expected'],
  ])('may not be %j', (source, expected) => {
    expect(connectionProblem(source)).toContain(`connection.${expected}`);
  });
});
