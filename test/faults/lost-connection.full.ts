import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { RedisConnectionSource } from '../../lib/index.js';
import { until } from '../support/until.js';
import { logged, startApp, type TestApp } from './support/app.js';
import { startInstance } from './support/instance.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { acquires } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** A client of ioredis, whichever version. */
interface AnyClient {
  readonly status: string;
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  disconnect(): void;
}

let clients: AnyClient[];
afterEach(() => {
  for (const client of clients) client.disconnect();
  jest.restoreAllMocks();
});
const redis = proxiedRedis();
let sent: string[];

beforeEach(() => {
  clients = [];
  sent = [];
  redis.proxy.onRequest((request) => {
    if (acquires(request)) sent.push(request);
  });
});

const kept = <Client extends AnyClient>(client: Client): Client => {
  client.on('error', () => undefined);
  clients.push(client);
  return client;
};

/** How users give a connection, and the client that is used then. */
const KINDS: [kind: string, connect: () => { connection: RedisConnectionSource; client: () => AnyClient }][] =
  [
    [
      'the client of the library',
      () => {
        const connects = jest.spyOn(Redis.prototype, 'connect');
        return { connection: redis.proxy.url, client: () => connects.mock.contexts[0] as AnyClient };
      },
    ],
    [
      "a client of the user's",
      () => {
        const connection = kept(new Redis(redis.proxy.url));
        return { connection, client: () => connection };
      },
    ],
    [
      'a client of ioredis 5',
      () => {
        const connection = kept(new Redis5(redis.proxy.url));
        return { connection, client: () => connection };
      },
    ],
  ];

const ROUNDS = 5;

describe.each(KINDS)('%s', (_kind, connect) => {
  let app: TestApp;
  let client: () => AnyClient;

  /** Breaks the connection. Resolves when the client has noticed, which then makes another one. */
  async function lose(cut: () => unknown): Promise<void> {
    const closed = once(client() as never, 'close');
    await cut();
    await closed;
  }

  async function start(storeTimeout: number): Promise<void> {
    const { connection, client: used } = connect();
    client = used;
    app = await startApp({ connection, ttl: '1m', storeTimeout, insight: false });
  }

  test('a call right after an idle connection was cut waits for the next one, and runs', async () => {
    await start(15_000);
    for (let round = 0; round < ROUNDS; round++) {
      await lose(() => redis.proxy.cut());
      expect(client().status).not.toBe('ready');
      await expect(app.locks.run('job', () => 'ran')).resolves.toEqual({ ran: true, value: 'ran' });
    }
    expect(app.heard('outage-started')).toEqual([]);
  });

  test('so does one that may stand in line, after the server has closed the connection', async () => {
    await start(15_000);
    for (let round = 0; round < ROUNDS; round++) {
      await lose(() => redis.server.command('CLIENT', 'KILL', 'TYPE', 'normal'));
      const run = app.locks.run('job', { wait: '5s' }, () => 'ran');
      await expect(run).resolves.toEqual({ ran: true, value: 'ran' });
    }
    expect(app.heard('outage-started')).toEqual([]);
  });

  test('all calls of one moment run, and go to the server together', async () => {
    await start(15_000);
    await lose(() => redis.proxy.cut());
    const names = Array.from({ length: 60 }, (_, index) => `job-${index}`);
    const runs = await Promise.all(names.map((name) => app.locks.run(name, () => 'ran')));
    expect(runs.filter(({ ran }) => ran)).toHaveLength(60);
    // The first one alone, the others in two scripts.
    expect(sent).toHaveLength(3);
  });

  test('a call whose limit passes before there is a connection is not sent, nor anything for it', async () => {
    await start(300);
    redis.proxy.freeze();
    await lose(() => redis.proxy.cut());
    const result = await app.locks.run('job', () => 'ran');
    expect(result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    expect(result).toMatchObject({ error: { outcome: 'not-applied' } });
    const requests: string[] = [];
    redis.proxy.onRequest((request) => requests.push(request));
    redis.proxy.thaw();
    await until(() => client().status === 'ready', { timeout: 20_000 });
    await until(async () => (await app.locks.run('afterwards', () => 'ran')).ran);
    expect(requests.filter((request) => request.includes('scheduler:job:'))).toEqual([]);
  });

  test('a renewal waits as well, and the lease is kept', async () => {
    const { connection, client: used } = connect();
    client = used;
    app = await startApp({ connection, ttl: '1m', heartbeat: 50, storeTimeout: 15_000, insight: false });
    let end = (): void => undefined;
    const run = app.locks.run('job', () => new Promise<void>((resolve) => (end = resolve)));
    await app.event('renewed');
    // Nothing is under way at some of these moments, and a renewal is due within each pause of the client.
    for (let round = 0; round < ROUNDS; round++) {
      await lose(() => redis.proxy.cut());
      await app.event('renewed', 'job', app.heard('renewed').length + 2);
    }
    expect(app.heard('lost')).toEqual([]);
    end();
    expect(await run).toMatchObject({ ran: true });
  });

  test('a known outage is told at once to a thousand calls, with one line, and nothing of them is sent later', async () => {
    await start(20_000);
    await lose(() => redis.proxy.refuse());
    // The first call may find the client trying; the others know what became of that.
    await app.locks.run('first', () => 'ran');
    const before = performance.now();
    const names = Array.from({ length: 1_000 }, (_, index) => `job-${index}`);
    const runs = await Promise.all(names.map((name) => app.locks.run(name, () => 'ran')));
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(new Set(runs.map((run) => (run.ran ? 'ran' : run.reason)))).toEqual(
      new Set(['store-unavailable']),
    );
    expect(logged()).toEqual([expect.stringMatching(/^error: The lock store is not available: /)]);
    await redis.proxy.refuse(false);
    await until(async () => (await app.locks.run('afterwards', () => 'ran')).ran);
    expect(sent.filter((request) => !request.includes('scheduler:afterwards:'))).toEqual([]);
  });
});

test('an instance that was frozen while its connection was cut runs its next call', async () => {
  const options = { ttl: '1m', storeTimeout: '15s', insight: false } as const;
  const instance = await startInstance({ ...options, store: { connection: redis.proxy.url } });
  for (let round = 0; round < ROUNDS; round++) {
    instance.pause();
    redis.proxy.cut();
    instance.resume();
    // As soon as it goes on, it notices that: by the time that it tells of a lock, it has.
    await instance.judge();
    expect(await instance.fire()).toBe(true);
    await instance.endJob();
  }
  expect(instance.heard('event:outage-started')).toEqual([]);
});

test('why a connection is known to fail is in the line of the outage', async () => {
  const app = await startApp({ connection: redis.proxy.url, ttl: '1m', insight: false });
  await redis.proxy.refuse();
  await app.locks.run('job', () => 'ran');
  await until(async () => {
    const result = await app.locks.run('job', () => 'ran');
    return !result.ran && /ECONNREFUSED/.test(String(result.error));
  });
});
