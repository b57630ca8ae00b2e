import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type mysql from 'mysql2/promise';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { isMariadb, provideMysql, startMariadb, testMysqlPool } from '../support/mysql-server.js';
import { until } from '../support/until.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of a statement, ms. */
const LIMIT = 200;
const CONNECTIONS = 8;

const attempt = (name = 'job'): AcquireRequest => ({
  name,
  token: randomUUID(),
  ttl: 600_000,
  holder: 'host',
});

describe('statements that MySQL goes on with when nobody waits for them any more', () => {
  let server: DatabaseServer;
  let pool: mysql.Pool;
  /** Looks on, and is in nobody's way. */
  let watcher: mysql.Pool;
  let blocker: mysql.PoolConnection;
  let store: MysqlLockStore;
  let table: string;

  beforeAll(async () => {
    server = await provideMysql();
    watcher = testMysqlPool(server.url, { connectionLimit: 2 });
  });

  beforeEach(async () => {
    table = uniqueTable('given_up');
    pool = testMysqlPool(server.url, { connectionLimit: CONNECTIONS });
    // MySQL ends no statement that waits for a table, unless it is told so, as docs/stores/mysql.md says.
    if (!(await isMariadb(server.url)))
      pool.on('connection', (connection) => void connection.query('SET SESSION lock_wait_timeout = 1'));
    store = new MysqlLockStore(pool, { table, queryTimeout: LIMIT });
    await until(() => store.init().then(() => true));
    blocker = await watcher.getConnection();
  });

  afterEach(async () => {
    await blocker.query('ROLLBACK');
    await blocker.query('UNLOCK TABLES');
    blocker.release();
    await until(() => waiting().then((count) => count === 0));
    await pool.end();
    await watcher.query(`DROP TABLE ${table}`);
  });

  afterAll(async () => {
    await watcher?.end();
    await server?.stop();
  });

  /** How many statements for the table are under way at the server. */
  async function waiting(): Promise<number> {
    const [rows] = await watcher.query(
      `SELECT COUNT(*) AS count FROM information_schema.PROCESSLIST WHERE INFO LIKE ? AND ID <> CONNECTION_ID()`,
      [`%${table}%`],
    );
    return Number((rows as { count: number }[])[0]?.count);
  }

  const ended = (): Promise<unknown> =>
    until(() => waiting().then((count) => count === 0), { message: 'the server to be rid of them' });

  /** As many tries as there are connections, each of which is sent and given up. */
  async function giveUpAll(call: () => Promise<unknown>, code: string): Promise<void> {
    const calls = Array.from({ length: CONNECTIONS }, () => expect(call()).rejects.toMatchObject({ code }));
    await Promise.all(calls);
  }

  async function lease(name?: string): Promise<LeaseRef> {
    const request = attempt(name);
    const result = await until(() => store.acquire(request).catch(() => undefined));
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  async function lockRows(): Promise<void> {
    await blocker.query('START TRANSACTION');
    await blocker.query(`SELECT * FROM ${table} FOR UPDATE`);
  }

  test('40 attempts at a lock whose row somebody has locked do not gather there', async () => {
    await store.release(await lease());
    await lockRows();
    for (let round = 0; round < 5; round++) {
      await giveUpAll(() => store.acquire(attempt()), 'LOCK_STATE');
      await ended();
    }
    // The row has been locked all the time, and nothing was left that would take the lock now.
    await blocker.query('ROLLBACK');
    const taken = await lease();
    expect(await store.release(taken)).toEqual({ released: true });
  });

  test('neither do first attempts and releases', async () => {
    const odd = 'it\'s 100 %_|\\ "é" 🔒';
    const held = await lease(odd);
    await lockRows();
    await giveUpAll(() => store.release(held), 'LOCK_STATE');
    await ended();
    await blocker.query('ROLLBACK');
    await blocker.query('START TRANSACTION');
    await blocker.query(`INSERT INTO ${table} (name, lock_until, locked_at, locked_by)
      VALUES ('another', '2000-01-01', '2000-01-01', '')`);
    await giveUpAll(() => store.acquire(attempt('another')), 'LOCK_STATE');
    await ended();
    await blocker.query('ROLLBACK');
    expect(await until(() => store.release(held).catch(() => undefined))).toMatchObject({ released: true });
    await lease('another');
  });

  test('nor does what waits for the table, be it the renewal of more leases than PROCESSLIST has room for', async () => {
    const names = ['it\'s 100 %_|\\ "é" 🔒', ...Array.from({ length: 1_500 }, (_, i) => `job-${i}`)];
    const leases = names.map((name) => ({ ...attempt(name), fencingToken: 1 }));
    const text = `${names.join()}${leases.map(({ token }) => `host/${token}`).join()}`;
    expect(text.length).toBeGreaterThan(65_535);
    await blocker.query(`LOCK TABLES ${table} WRITE`);
    for (let round = 0; round < 3; round++) {
      await giveUpAll(() => store.acquire(attempt()), 'STORE_UNAVAILABLE');
      await ended();
      await giveUpAll(() => store.extend(leases), 'STORE_UNAVAILABLE');
      await ended();
    }
    await blocker.query('UNLOCK TABLES');
    await lease();
  });
});

test('a server that was frozen serves all connections of the pool when it is back', async () => {
  const server = await startMariadb();
  const pool = testMysqlPool(server.url, { connectionLimit: 2 });
  try {
    const store = new MysqlLockStore(pool, { table: 'frozen', queryTimeout: LIMIT });
    await until(() => store.init().then(() => true));
    server.pause();
    for (let round = 0; round < 4; round++) {
      await Promise.allSettled([1, 2, 3].map(() => store.acquire(attempt())));
    }
    server.resume();
    await until(() => store.acquire(attempt(randomUUID())).then(({ acquired }) => acquired));
    const [one, two] = [await pool.getConnection(), await pool.getConnection()];
    await Promise.all([one.query('SELECT 1'), two.query('SELECT 1')]);
    one.release();
    two.release();
  } finally {
    server.resume();
    await pool.end();
    await server.stop();
  }
});
