import { DATABASES, type TestDatabase } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { startRedis } from '../../support/local-redis.js';
import { type ProxyOptions, startProxy, type TcpProxy } from '../proxy/tcp-proxy.js';
import type { StoreAddress } from '../children/open-store.js';

/** A way of one instance to the store, which can be cut. */
export interface StoreLink {
  readonly address: StoreAddress;
  readonly proxy: TcpProxy;
}

/** A server that keeps leases. */
export interface StoreServer {
  link(): Promise<StoreLink>;
  /** Ends the server the hard way and starts it again; `empty` without its data. */
  restart(options?: { empty?: boolean }): Promise<void>;
  stop(): Promise<void>;
}

/** A kind of store. */
export interface LeaderStore {
  readonly name: string;
  start(): Promise<StoreServer>;
}

/** The stores with which elections are tested. */
export const leaderStores: LeaderStore[] = [
  { name: 'Redis', start: startRedisStore },
  ...DATABASES.map((database) => ({
    name: database.name,
    start: () => startDatabaseStore(database),
  })),
];

async function startRedisStore(): Promise<StoreServer> {
  const server = await startRedis({ persistent: true });
  const { links, stop } = linksTo({ host: server.host, port: server.port });
  return {
    link: () => links(({ url }) => ({ connection: url })),
    restart: async ({ empty = false } = {}) => {
      await server.kill();
      await server.restart({ empty });
    },
    stop: async () => {
      await stop();
      await server.stop();
    },
  };
}

/** What a table holds survives its server. */
async function startDatabaseStore(database: TestDatabase): Promise<StoreServer> {
  const server = await database.start();
  const table = uniqueTable('leader');
  const { links, stop } = linksTo({ host: server.host, port: server.port, protocol: 'raw' });
  return {
    link: () =>
      links(({ port }) => ({ database: { url: server.url.replace(`:${server.port}`, `:${port}`), table } })),
    restart: async () => {
      await server.kill();
      await server.restart();
    },
    stop: async () => {
      await stop();
      await server.stop();
    },
  };
}

/** A proxy for each instance. */
function linksTo(target: ProxyOptions) {
  const proxies: TcpProxy[] = [];
  return {
    links: async (addressOf: (proxy: TcpProxy) => StoreAddress): Promise<StoreLink> => {
      const proxy = await startProxy(target);
      proxies.push(proxy);
      return { proxy, address: addressOf(proxy) };
    },
    stop: async (): Promise<void> => {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    },
  };
}
