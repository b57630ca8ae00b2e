import { startRedis } from '../../support/redis-server.js';
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.js';
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
  /** Whether a restart can lose what it keeps. */
  readonly losesData: boolean;
  start(): Promise<StoreServer>;
}

/** The stores with which elections are tested. */
export const leaderStores: LeaderStore[] = [{ name: 'Redis', losesData: true, start: startRedisStore }];

async function startRedisStore(): Promise<StoreServer> {
  const server = await startRedis({ persistent: true });
  const proxies: TcpProxy[] = [];
  return {
    link: async () => {
      const proxy = await startProxy(server);
      proxies.push(proxy);
      return { proxy, address: { kind: 'redis', url: proxy.url } };
    },
    restart: async ({ empty = false } = {}) => {
      await server.kill();
      await server.restart({ empty });
    },
    stop: async () => {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await server.stop();
    },
  };
}
