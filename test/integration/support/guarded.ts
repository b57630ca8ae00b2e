import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { GuardDialect } from '../../../lib/guard/index.js';
import { type DatabaseServer, uniqueTable } from '../../support/database-server.js';
import { MYSQL, POSTGRES, type TestDatabase, type TestPool } from '../../support/database.js';
import { testMysqlPool } from '../../support/mysql-server.js';
import { testPool } from '../../support/postgres-server.js';

/** A connection of its driver, to which a test and the guard both talk. */
export interface Session {
  /** What a user gives to the guard. */
  readonly tx: object;
  query(text: string): Promise<unknown>;
  release(): void;
}

/** A database in which jobs work, with its driver. */
export interface GuardedDatabase {
  readonly database: TestDatabase;
  readonly dialect: GuardDialect;
  open(url: string): { readonly pool: object; session(): Promise<Session>; end(): Promise<void> };
}

const onPostgres: GuardedDatabase = {
  database: POSTGRES,
  dialect: 'postgres',
  open(url) {
    const pool = testPool(url);
    const session = async (): Promise<Session> => {
      const tx = await pool.connect();
      return { tx, query: (text) => tx.query(text), release: () => tx.release(true) };
    };
    return { pool, session, end: () => pool.end() };
  },
};

const onMysql: GuardedDatabase = {
  database: MYSQL,
  dialect: 'mysql',
  open(url) {
    const pool = testMysqlPool(url);
    const session = async (): Promise<Session> => {
      const tx = await pool.getConnection();
      return { tx, query: (text) => tx.query(text), release: () => tx.destroy() };
    };
    return { pool, session, end: () => pool.end() };
  },
};

export const GUARDED: readonly GuardedDatabase[] = [onPostgres, onMysql];

/** What the hooks of {@link useGuarded} fill in: to be read in a test. */
export interface Guarded {
  url: string;
  rows: TestPool['rows'];
  /** Of the driver. */
  pool: object;
  /** Names of tables of the test's own: the guard's, and the one that the job writes to. */
  table: string;
  work: string;
  /** A session that is closed after the test. */
  session(): Promise<Session>;
}

/** Gives each test of a `describe` tables of its own, of which that of the work is there. */
export function useGuarded({ database, open }: GuardedDatabase): Guarded {
  const used = {} as Guarded;
  const sessions: Session[] = [];
  let server: DatabaseServer | undefined;
  let pool: TestPool;
  let driver: ReturnType<GuardedDatabase['open']>;

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
    driver = open(server.url);
    used.url = server.url;
    used.rows = (text, values) => pool.rows(text, values);
    used.pool = driver.pool;
    used.session = async () => {
      const session = await driver.session();
      sessions.push(session);
      return session;
    };
  }, 60_000);

  beforeEach(async () => {
    used.table = uniqueTable('guard');
    used.work = `${used.table}_work`;
    await pool.write(`CREATE TABLE ${used.work} (what VARCHAR(100) NOT NULL)`);
  });

  afterEach(async () => {
    for (const session of sessions.splice(0)) session.release();
    for (const table of [used.table, used.work]) await pool.write(`DROP TABLE IF EXISTS ${table}`);
  });

  afterAll(async () => {
    await driver?.end();
    await pool?.end();
    await server?.stop();
  });

  return used;
}
