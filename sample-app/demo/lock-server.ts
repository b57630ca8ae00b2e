import { provideMysql, testMysqlPool } from '../../test/support/mysql-server.js';
import { freePort, LOOPBACK } from '../../test/support/machine.js';
import { startPostgres, testPool } from '../../test/support/postgres-server.js';
import { provideRedis, uniquePrefix } from '../../test/support/redis-server.js';
import { serverUnderTest } from '../../test/support/servers.js';
import { forgetLocks } from './forget-locks.js';

/** What the instances of the demo share. */
export interface LockServer {
  /** As a sentence goes on: `one Redis (started here)`. */
  readonly what: string;
  /** Tells an instance where it is. */
  readonly env: Record<string, string>;
  /** Tells the shell of the package where it is. */
  readonly shell: ShellPlace;
  /** Ends what was started, and removes what was left in a server of somebody else. */
  stop(): Promise<void>;
}

/** Where the shell of the package finds the locks. */
export interface ShellPlace {
  readonly url: string;
  /** Beside the URL, which is in a variable. */
  readonly options: readonly string[];
}

const SOURCES = {
  REDIS_URL: 'the one that REDIS_URL names',
  url: 'the one that MYSQL_URL names',
  docker: 'started in Docker',
  path: 'started here',
  local: 'started here',
  packages: 'started here',
} as const;

const SERVERS: Readonly<Record<string, () => Promise<LockServer>>> = { redis, postgres, mysql };

/** @param store `redis`, `postgres` or `mysql` */
export async function provideLockServer(store: string): Promise<LockServer> {
  const provide = SERVERS[store];
  if (provide === undefined)
    throw new Error(`--store ${store}: give one of ${Object.keys(SERVERS).join(', ')}`);
  return provide();
}

async function redis(): Promise<LockServer> {
  const prefix = uniquePrefix('demo').replace(/:$/, '');
  const server = await provideRedis();
  return {
    what: `one Redis (${SOURCES[server.source]})`,
    env: { LOCK_STORE: 'redis', REDIS_URL: server.url, LOCK_PREFIX: prefix },
    shell: { url: server.url, options: ['--key-prefix', prefix] },
    async stop() {
      if (server.source === 'REDIS_URL') await forgetLocks(server.url, prefix);
      await server.stop();
    },
  };
}

/** The PostgreSQL that DATABASE_URL names, or one that comes from npm and needs nothing else. */
async function postgres(): Promise<LockServer> {
  const given = process.env['DATABASE_URL'];
  const table = tableName();
  const at = (url: string) => ({
    env: { LOCK_STORE: 'postgres', DATABASE_URL: url, LOCK_TABLE: table },
    shell: { url, options: ['--table', table] },
  });
  if (given) {
    const stop = async (): Promise<void> => {
      const pool = testPool(given);
      await pool.query(dropTables(table));
      await pool.end();
    };
    return { what: 'one PostgreSQL (the one that DATABASE_URL names)', ...at(given), stop };
  }
  const named = serverUnderTest();
  if (named?.kind === 'PostgreSQL') {
    const server = await startPostgres();
    return { what: `one ${named.name}`, ...at(server.url), stop: () => server.stop() };
  }
  const { PGlite } = await import('@electric-sql/pglite');
  const { PGLiteSocketServer } = await import('@electric-sql/pglite-socket');
  const db = await PGlite.create();
  const port = await freePort();
  const server = new PGLiteSocketServer({ db, host: LOOPBACK, port, maxConnections: 50 });
  await server.start();
  return {
    what: 'one PostgreSQL (PGlite, within this process)',
    ...at(`postgres://postgres@${LOOPBACK}:${port}/postgres?sslmode=disable`),
    async stop() {
      await server.stop();
      await db.close();
    },
  };
}

async function mysql(): Promise<LockServer> {
  const table = tableName();
  const server = await provideMysql();
  return {
    what: `one ${server.source === 'url' ? 'MySQL' : 'MariaDB'} (${SOURCES[server.source]})`,
    env: { LOCK_STORE: 'mysql', MYSQL_URL: server.url, LOCK_TABLE: table },
    shell: { url: server.url, options: ['--table', table] },
    async stop() {
      if (server.source === 'url') {
        const pool = testMysqlPool(server.url);
        await pool.query(dropTables(table));
        await pool.end();
      }
      await server.stop();
    },
  };
}

function tableName(): string {
  return uniquePrefix('demo').replaceAll(/\W+/g, '_').replace(/_$/, '');
}

/** The locks, and what is remembered of runs and instances. */
function dropTables(table: string): string {
  return `DROP TABLE IF EXISTS ${table}, ${table}_entries`;
}
