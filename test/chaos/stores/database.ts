import { MYSQL, POSTGRES, type TestDatabase, type TestPool } from '../../support/database.js';
import type { ChaosStore } from './store.js';

/** How the sessions of all others are ended: what a proxy that pools transactions does to them, but in earnest. */
const OTHERS = {
  PostgreSQL:
    "SELECT pid AS id FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  MySQL: "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()",
} as const;

export const postgresChaosStore = (): Promise<ChaosStore> => databaseStore('postgres', POSTGRES);
export const mysqlChaosStore = (): Promise<ChaosStore> => databaseStore('mysql', MYSQL);

/** A database of our own, whose table is the one that the instances make. */
async function databaseStore(name: string, database: TestDatabase): Promise<ChaosStore> {
  const server = await database.start();
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
    async restart({ empty }) {
      await server.restart();
      // Its connections went with the server; which of them a pool notices in time is not the question here.
      await pool.end().catch(() => undefined);
      pool = database.pool(server.url, { max: 2 });
      if (empty) await flush();
    },
    freeze: () => server.pause(),
    thaw: () => server.resume(),
    flush,
    // Nothing is prepared: what could be is lost with the sessions.
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
