import { PostgresLockStore } from '../../../lib/stores/postgres/index.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import { POSTGRES } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { startRedis } from '../../support/local-redis.js';
import { testPool } from '../../support/postgres-server.js';
import { startProxy } from '../proxy/tcp-proxy.js';
import type { Place } from './incident-stage.js';

/** A server on which each incident has a place of its own. */
export interface Ground {
  place(): Promise<Place>;
  stop(): Promise<void>;
}

async function redis(): Promise<Ground> {
  const server = await startRedis();
  let count = 0;
  return {
    async place() {
      const proxy = await startProxy({ host: '127.0.0.1', port: server.port });
      const keyPrefix = `incident-${++count}`;
      const store = new RedisLockStore(server.url, { keyPrefix });
      await store.init();
      return {
        proxy,
        address: (way) => ({ connection: way === 'proxied' ? proxy.url : server.url }),
        options: { keyPrefix },
        shell: { url: server.url, args: ['--key-prefix', keyPrefix] },
        store,
        async close() {
          await store.close();
          await proxy.stop();
        },
      };
    },
    stop: () => server.stop(),
  };
}

async function postgres(): Promise<Ground> {
  const server = await POSTGRES.provide();
  const pool = testPool(server.url);
  const tables: string[] = [];
  return {
    async place() {
      const { hostname: host, port } = new URL(server.url);
      const proxy = await startProxy({ host, port: Number(port), protocol: 'raw' });
      const proxied = new URL(server.url);
      proxied.host = `${proxy.host}:${proxy.port}`;
      const table = uniqueTable('incident');
      tables.push(table);
      const store = new PostgresLockStore(pool, { table });
      await store.init();
      return {
        proxy,
        address: (way) => ({ database: { url: way === 'proxied' ? proxied.href : server.url, table } }),
        options: {},
        shell: { url: server.url, args: ['--table', table] },
        store,
        async close() {
          await store.close();
          await proxy.stop();
        },
      };
    },
    async stop() {
      const all = tables.flatMap((table) => [table, `${table}_entries`]);
      if (all.length > 0) await pool.query(`DROP TABLE IF EXISTS ${all.join(', ')}`);
      await pool.end();
      await server.stop();
    },
  };
}

export const GROUNDS: readonly { readonly name: string; readonly start: () => Promise<Ground> }[] = [
  { name: 'Redis', start: redis },
  { name: 'PostgreSQL', start: postgres },
];
