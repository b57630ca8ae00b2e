import { MYSQL, POSTGRES, type TestDatabase, type TestPool } from '../../support/database.js';
import type { ChaosStore } from './store.js';

/**
 * Finds the sessions of all other clients, to end them: as a proxy that pools transactions would, but more
 * radically.
 */
const OTHERS = {
  PostgreSQL:
    "SELECT pid AS id FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  MySQL: "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()",
} as const;

/** The time of their clocks, epoch ms. */
const TIME = {
  PostgreSQL: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS time',
  MySQL: 'SELECT UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS time',
} as const;

type Env = NodeJS.ProcessEnv;

export const postgresChaosStore = (env: Env): Promise<ChaosStore> => databaseStore('postgres', POSTGRES, env);
export const mysqlChaosStore = (env: Env): Promise<ChaosStore> => databaseStore('mysql', MYSQL, env);

/** A private database, in which the instances make the table. */
async function databaseStore(name: string, database: TestDatabase, env: Env): Promise<ChaosStore> {
  const server = await database.start([], env);
  let pool: TestPool = database.pool(server.url, { max: 2 });
  const { host, port } = server;
  const flush = async (): Promise<void> => {
    await pool.write('DELETE FROM shedlock');
  };
  return {
    name,
    host,
    port,
    protocol: 'raw',
    ping: () => pool.rows('SELECT 1'),
    crash: () => server.kill(),
    async restart({ data }) {
      await server.restart();
      // The connections ended with the server. Whether a pool notices that in time is not tested here.
      await pool.end().catch(() => undefined);
      pool = database.pool(server.url, { max: 2 });
      if (data === 'lost') await flush();
    },
    async time() {
      const [row] = await pool.rows(TIME[database.name as keyof typeof TIME]);
      return Number(row?.['time']);
    },
    freeze: () => server.pause(),
    thaw: () => server.resume(),
    flush,
    // The store prepares nothing by name. Anything prepared is lost with the sessions.
    async forgetScripts() {
      const others = await pool.rows(OTHERS[database.name as keyof typeof OTHERS]);
      const end = name === 'postgres' ? 'SELECT pg_terminate_backend(?)' : 'KILL ?';
      for (const row of others) await pool.rows(end, [row['id'] ?? row['ID']]).catch(() => undefined);
    },
    async close() {
      await pool.end().catch(() => undefined);
      await server.stop();
    },
  };
}
