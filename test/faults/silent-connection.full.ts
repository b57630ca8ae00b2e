import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { RedisConnectionSource } from '../../lib/index.js';
import { until } from '../support/until.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { startApp, type TestApp } from './support/app.js';
import { proxiedRedis } from './support/proxied-redis.js';
import { startRedisCluster, type RedisCluster } from './support/redis-topologies.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** The members of a client that these tests use. */
interface AnyClient {
  readonly status: string;
  on(event: string, listener: () => void): unknown;
  disconnect(): void;
}

let clients: AnyClient[];
beforeEach(() => {
  clients = [];
});
afterEach(() => {
  for (const client of clients) client.disconnect();
  jest.restoreAllMocks();
});
const redis = proxiedRedis();

const kept = <Client extends AnyClient>(client: Client): Client => {
  client.on('error', () => undefined);
  clients.push(client);
  return client;
};

/** Far less than the quarter of an hour after which TCP gives up, and more than the watch needs on a busy machine. */
const SOON = { timeout: 30_000 };

const runs = async (app: TestApp, name = 'job'): Promise<boolean> => (await app.locks.run(name, () => 1)).ran;

describe('a connection that the network has forgotten, without telling anyone,', () => {
  test.each<[kind: string, connect: () => RedisConnectionSource]>([
    ['of the library', () => redis.proxy.url],
    ["of the user's client", () => kept(new Redis(redis.proxy.url))],
    ["of a user's client of ioredis 5", () => kept(new Redis5(redis.proxy.url))],
    [
      "of a user's client that sends nothing again",
      () => kept(new Redis(redis.proxy.url, { autoResendUnfulfilledCommands: false })),
    ],
  ])('%s is made anew', async (_kind, connect) => {
    const app = await startApp({ connection: connect(), ttl: '1m', insight: false });
    expect(await runs(app)).toBe(true);
    for (let round = 0; round < 2; round++) {
      redis.proxy.forget();
      await until(() => runs(app), SOON);
    }
    await app.close();
    expect(await redis.free()).toBe(true);
  });
});

describe("a connection of the user's that has to wait is left alone", () => {
  let client: Redis;
  let app: TestApp;
  const ended = jest.fn();

  beforeEach(async () => {
    ended.mockClear();
    client = kept(new Redis(redis.proxy.url));
    app = await startApp({ connection: client, ttl: '1m', insight: false });
    client.on('close', ended);
  });

  test('for a blocking command', async () => {
    const popped = client.blpop('list', 0);
    for (let call = 0; call < 3; call++) expect(await runs(app)).toBe(false);
    await redis.server.command('RPUSH', 'list', 'value');
    expect(await popped).toEqual(['list', 'value']);
    await until(() => runs(app), SOON);
    expect(ended).not.toHaveBeenCalled();
  });

  test('for its messages, of which there are none', async () => {
    const subscriber = kept(new Redis(redis.proxy.url, { protocol: 2 }));
    await subscriber.subscribe('channel');
    await startApp({ connection: subscriber, ttl: '1m', insight: false });
    subscriber.on('close', ended);
    expect(await runs(app)).toBe(true);
    expect(ended).not.toHaveBeenCalled();
    await app.close();
  });
});

describe('a Cluster', () => {
  let cluster: RedisCluster;
  let proxies: TcpProxy[];

  beforeEach(async () => {
    cluster = await startRedisCluster();
    proxies = await Promise.all(cluster.servers.map((server) => startProxy(server)));
  });
  afterEach(async () => {
    for (const client of clients) client.disconnect();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await cluster.stop();
  });

  const connect = (): Cluster => {
    const way = (index: number) => ({ host: proxies[index]!.host, port: proxies[index]!.port });
    const natMap = Object.fromEntries(
      cluster.nodes.map(({ host, port }, index) => [`${host}:${port}`, way(index)]),
    );
    return kept(
      new Cluster(
        proxies.map((_, index) => way(index)),
        { natMap },
      ),
    );
  };
  /** On every node some. */
  const names = Array.from({ length: 30 }, (_, index) => `${(index + 1) * 7_919}`);

  test('whose connections the network has forgotten makes them anew', async () => {
    const app = await startApp({ connection: connect(), ttl: '1m', insight: false });
    await until(async () => (await Promise.all(names.map((name) => runs(app, name)))).every(Boolean));
    for (const proxy of proxies) proxy.forget();
    await until(async () => (await Promise.all(names.map((name) => runs(app, name)))).every(Boolean), SOON);
  });

  test('one of whose connections was forgotten makes that anew, and keeps the others', async () => {
    const client = connect();
    const app = await startApp({ connection: client, ttl: '1m', insight: false });
    await until(async () => (await Promise.all(names.map((name) => runs(app, name)))).every(Boolean));
    const [first, ...others] = client.nodes('master');
    expect([first, ...others].map((node) => node?.status)).toEqual(['ready', 'ready', 'ready']);
    const ended = jest.fn();
    for (const other of others) other.on('close', ended);
    const forgotten = proxies.find(({ port }) => port === first?.options.port);
    expect(forgotten).toBeDefined();
    forgotten?.forget();
    await until(async () => (await Promise.all(names.map((name) => runs(app, name)))).every(Boolean), SOON);
    expect(ended).not.toHaveBeenCalled();
  });

  test('runs a call right after its connections were cut', async () => {
    const app = await startApp({ connection: connect(), ttl: '1m', storeTimeout: '15s', insight: false });
    await until(async () => (await Promise.all(names.map((name) => runs(app, name)))).every(Boolean));
    for (let round = 0; round < 3; round++) {
      for (const proxy of proxies) proxy.cut();
      expect(await Promise.all(names.map((name) => runs(app, name)))).toEqual(names.map(() => true));
    }
  });
});
