import type { SchedulerLockModuleOptions } from '../../../lib/index.js';
import { DATABASES, type TestDatabase } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { startRedis } from '../../support/local-redis.js';
import type { StoreAddress } from '../children/open-store.js';

/** A store that knows nothing yet. */
export interface EmptyStore {
  /** For instances in processes of their own. */
  readonly address: StoreAddress;
  /** For an application in this process. */
  readonly options: Pick<SchedulerLockModuleOptions, 'connection' | 'store'>;
}

/** A server that has room for the stores of all tests. */
export interface TickServer {
  empty(): Promise<EmptyStore>;
  stop(): Promise<void>;
}

/** The stores with which ticks of several processes are tested. */
export const tickStores: { readonly name: string; start(): Promise<TickServer> }[] = [
  { name: 'Redis', start: startRedisServer },
  ...DATABASES.map((database) => ({ name: database.name, start: () => startDatabaseServer(database) })),
];

async function startRedisServer(): Promise<TickServer> {
  const server = await startRedis();
  return {
    async empty() {
      await server.command('FLUSHALL');
      return { address: { connection: server.url }, options: { connection: server.url } };
    },
    stop: () => server.stop(),
  };
}

async function startDatabaseServer(database: TestDatabase): Promise<TickServer> {
  const server = await database.provide();
  const pool = database.pool(server.url);
  const tables: string[] = [];
  return {
    async empty() {
      const table = uniqueTable('ticks');
      tables.push(table);
      return { address: { database: { url: server.url, table } }, options: { store: pool.store({ table }) } };
    },
    async stop() {
      for (const table of tables) await pool.write(`DROP TABLE IF EXISTS ${table}`);
      await pool.end();
      await server.stop();
    },
  };
}
