import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../lib/base/clock.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { LimitedPool, poolOf } from '../../lib/stores/mysql/limited-pool.js';
import { MysqlDialect } from '../../lib/stores/mysql/mysql-dialect.js';
import { PostgresDialect } from '../../lib/stores/postgres/postgres-dialect.js';
import { SqlLockStore } from '../../lib/stores/sql/sql-lock.store.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';
import { startProxy } from '../faults/proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { closeApps, startApp } from './app.js';

const attempt = () => ({ name: randomUUID(), token: randomUUID(), ttl: 60_000, holder: 'host' });
const unavailable = { code: 'STORE_UNAVAILABLE', outcome: 'not-applied' };

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  const quote = postgres ? '"' : '`';
  let server: DatabaseServer;
  let pool: TestPool;
  const tables = new Set<string>();
  const cleanups: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
  });

  afterEach(async () => {
    // The transaction first: others may wait for it.
    for (const cleanup of cleanups.splice(0)) await cleanup();
    await closeApps();
  });

  afterAll(async () => {
    for (const table of tables) await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server?.stop();
  });

  function opened(url = server.url, max = 8): TestPool {
    const each = database.pool(url, { max });
    const ended = { already: false };
    cleanups.push(async () => (ended.already ? undefined : each.end()));
    return { ...each, end: () => ((ended.already = true), each.end()) };
  }

  /** How many statements that alter a table are under way. */
  async function altering(table: string): Promise<number> {
    const statement = postgres
      ? `SELECT 1 AS one FROM pg_stat_activity WHERE state = 'active' AND query LIKE ? AND pid <> pg_backend_pid()`
      : 'SELECT 1 AS one FROM information_schema.PROCESSLIST WHERE INFO LIKE ? AND ID <> CONNECTION_ID()';
    return (await pool.rows(statement, [`%ALTER TABLE %${quote}${table}${quote}%`])).length;
  }

  /** Has somebody read a table of ShedLock's in a transaction, so that it cannot be altered until the answered function is called. */
  async function usedTable(): Promise<{ table: string; free: () => Promise<void> }> {
    const table = uniqueTable('waiting');
    tables.add(table);
    await pool.write(database.shedlock(table));
    // Not one that its pool closes after a while.
    const user: { query(text: string): Promise<unknown>; end(): Promise<void> } = postgres
      ? testPool(server.url, { max: 1, idleTimeoutMillis: 0 })
      : testMysqlPool(server.url, { connectionLimit: 1 });
    cleanups.push(() => user.end());
    await user.query('START TRANSACTION');
    await user.query(`SELECT * FROM ${table}`);
    return { table, free: async () => void (await user.query('COMMIT')) };
  }

  /** A start, whose error is not needed. */
  function start(store: SqlStore): void {
    void store.init().catch(() => undefined);
    cleanups.push(() => store.close());
  }

  const works = (store: Pick<SqlStore, 'acquire'>) =>
    until(() => store.acquire(attempt()).then(({ acquired }) => acquired), {
      timeout: 40_000,
      interval: 50,
    });

  const others: [what: string, store: (table: string) => SqlStore][] = [
    ['', (table) => opened().store({ table })],
  ];
  // What MySQL has no way for, through a client that shows no connections.
  if (!postgres) {
    const client = () => {
      const own = testMysqlPool(server.url);
      cleanups.push(() => own.end());
      return { query: (text: string, values: unknown[]) => own.query(text, values) };
    };
    others.push([', through any client of MariaDB', (table) => new MysqlLockStore(client(), { table })]);
  }

  test.each(others)(
    'a migration that has to wait for a transaction lets others read the table in between, and is done after it%s',
    async (_what, make) => {
      const { table, free } = await usedTable();
      const store = make(table);
      start(store);
      for (let tries = 0; tries < 2; tries++) {
        await until(() => altering(table));
        // It stands behind the migration. Before this is answered, that has given up.
        expect(await pool.rows(`SELECT name FROM ${table}`)).toEqual([]);
        await until(async () => (await altering(table)) === 0);
      }
      // The answer of the last try may still be on its way.
      const told = await until(async () => {
        const error: unknown = await store.acquire(attempt()).catch((reason: unknown) => reason);
        expect(error).toMatchObject(unavailable);
        const { message } = error as Error;
        return message.includes('last try') && message;
      });
      expect(told).toMatch(
        /no column .*migration has been running for \d+ s, and no lock .*last try was given up.*: .*lock.*\. It may be waiting for a trans/i,
      );
      await free();
      await works(store);
      expect(await altering(table)).toBe(0);
    },
  );

  test('a migration that has to wait is never tried twice at once, also by hand, and then all works', async () => {
    const { table, free } = await usedTable();
    const store = opened().store({ table });
    start(store);
    const byHand = [store.migrate(), store.migrate()];
    let most = 0;
    let tries = 0;
    for (let before = 0; tries < 3;) {
      const now = await altering(table);
      most = Math.max(most, now);
      if (now === 0 && before > 0) tries += 1;
      before = now;
      await sleep(20);
    }
    expect(most).toBe(1);
    await free();
    await Promise.all(byHand);
    expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
  });

  test('ten instances whose migrations have to wait all work in the end', async () => {
    const { table, free } = await usedTable();
    const stores = Array.from({ length: 10 }, () => pool.store({ table }));
    for (const store of stores) start(store);
    await until(() => altering(table));
    expect(await pool.rows(`SELECT name FROM ${table}`)).toEqual([]);
    await free();
    await Promise.all(stores.map(works));
  });

  test('a start does not wait for a migration that takes long, and the store is usable when that is done', async () => {
    const { table, free } = await usedTable();
    const store = opened().store({ table });
    cleanups.push(() => store.close());
    await expect(store.init()).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/Its migration has been running for 8 s/),
    });
    await free();
    await works(store);
  });

  test('an application that is closed and ends its pool does not wait for the transaction that its migration waits for', async () => {
    const { table } = await usedTable();
    const own = opened();
    @Injectable()
    class Database implements OnApplicationShutdown {
      async onApplicationShutdown(): Promise<void> {
        await own.end();
      }
    }
    const app = await startApp([Database], { store: own.store({ table }) });
    await until(() => altering(table));
    await app.close();
    await until(async () => (await altering(table)) === 0);
    await expect(pool.rows(`SELECT version FROM ${table}`)).rejects.toThrow();
  });

  test('close() ends the tries, and tells those who wait; calls begin no other, and a new start does', async () => {
    const { table, free } = await usedTable();
    const store = opened().store({ table });
    const closed = { ...unavailable, message: expect.stringMatching(/closed before .* no column/) };
    const waiting = Promise.all([
      expect(store.init()).rejects.toMatchObject(closed),
      expect(store.migrate()).rejects.toMatchObject(closed),
    ]);
    await until(() => altering(table));
    await store.close();
    await waiting;
    await expect(store.acquire(attempt())).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/no column .*Run this/),
    });
    await until(async () => (await altering(table)) === 0);
    await free();
    await expect(store.acquire(attempt())).rejects.toMatchObject(unavailable);
    await store.init();
    await works(store);
  });

  test('a pool that is ended ends the tries of a store that nobody has closed', async () => {
    const { table } = await usedTable();
    const own = opened();
    const store = own.store({ table });
    const migrated = expect(store.migrate()).rejects.toMatchObject(unavailable);
    await until(() => altering(table));
    await own.end();
    await migrated;
    expect(await altering(table)).toBe(0);
  });

  describe('a try whose connection has fallen silent', () => {
    /** Longer than it waits for a lock, ms. */
    const limit = 3_000;

    /** A store with a pool of one connection that is to lead through a proxy, and a limit of its own for tries. */
    function opening(url: string, table: string): { store: SqlStore; end(): Promise<void> } {
      const made = (dialect: unknown): SqlStore =>
        new SqlLockStore(dialect as MysqlDialect, { migrate: true });
      if (postgres) {
        const own = testPool(url, { max: 1, query_timeout: 30_000 });
        return { store: made(new PostgresDialect(own, { table }, limit)), end: () => own.end() };
      }
      const own = testMysqlPool(url, { connectionLimit: 1 });
      const inner = poolOf(own);
      if (inner === undefined) throw new Error('a pool of mysql2 shows its connections');
      const dialect = new MysqlDialect(new LimitedPool(inner, 5_000, systemClock, limit), { table });
      return { store: made(dialect), end: () => own.end() };
    }

    /** Until `speak` is called nothing is answered any more, beginning with what became of the first try. */
    async function silent() {
      const used = await usedTable();
      const { hostname, port } = new URL(server.url);
      const proxy = await startProxy({ host: hostname, port: Number(port), protocol: 'raw' });
      cleanups.push(() => proxy.stop());
      const url = new URL(server.url);
      url.port = String(proxy.port);
      let silence = false;
      const { struck, stop } = proxy.swallowReplies(
        (reply) => (silence ||= /lock timeout|lock wait timeout/i.test(reply)),
      );
      const { store, end } = opening(url.href, used.table);
      start(store);
      await struck;
      return { ...used, store, end, speak: stop };
    }

    test('is given up, also by the pool, and begun anew', async () => {
      const { store, end, speak, free } = await silent();
      const isTold = ({ message }: Error): boolean => /no answer|read timeout/.test(message);
      await until(() => store.acquire(attempt()).catch(isTold), { interval: 50 });
      speak();
      await free();
      await works(store);
      await end();
    });

    test('does not keep a pool from being ended', async () => {
      const { store, end } = await silent();
      await store.close();
      // `mysql2` says what has become of the connection.
      await end().catch((error: unknown) =>
        expect(error).toMatchObject({ message: expect.stringMatching(/^no answer within/) }),
      );
    });
  });
});
