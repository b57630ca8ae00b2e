import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { SchedulerLockService } from '../../lib/index.js';
import type { ExtendResult } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { provideMysql, testMysqlPool } from '../support/mysql-server.js';
import { closeApps, startApp } from './app.js';
import { isEvent } from '../support/events.js';
import { kindOf } from '../support/events.js';

const NAMES = Array.from({ length: 10 }, (_, index) => `job-${index}`);
const LOCKED = 'job-3';

/** Transactions of strangers that lock rows of the table. */
describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
  let server: DatabaseServer;
  let pool: TestPool;
  /** One connection: what it begins stays open. */
  let stranger: TestPool;
  let table: string;
  let store: SqlStore;

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
    stranger = database.pool(server.url, { max: 1 });
  }, 60_000);

  beforeEach(async () => {
    table = uniqueTable('locked');
    store = pool.store({ table });
    await store.init();
  });

  afterEach(async () => {
    await stranger.write('ROLLBACK');
    await closeApps();
    await pool.write(`DROP TABLE IF EXISTS ${table}`);
  });

  afterAll(async () => {
    await Promise.all([pool?.end(), stranger?.end()]);
    await server?.stop();
  });

  async function lockRow(name: string): Promise<void> {
    await stranger.write('START TRANSACTION');
    expect(await stranger.rows(`SELECT name FROM ${table} WHERE name = ? FOR UPDATE`, [name])).toHaveLength(
      1,
    );
  }

  async function lease(name: string): Promise<LeaseRef> {
    const request = { name, token: randomUUID(), ttl: 60_000, holder: 'host' };
    const result = await store.acquire(request);
    if (!result.acquired) throw new Error(`refused: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  test('a row that a stranger has locked holds up the renewals of its own lock alone, and no longer than it is locked', async () => {
    const app = await startApp([], { store, ttl: 60_000, heartbeat: 100 });
    const locks = app.get(SchedulerLockService);
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const runs = NAMES.map((name) => locks.run(name, () => ended));
    const heard = (wanted: string, name: string): number =>
      app.events.filter((event) => kindOf(event) === wanted && event.lock === name).length;
    /** Until each of these has been renewed three more times. */
    const renewals = async (names: readonly string[]): Promise<void> => {
      const before = names.map((name) => heard('renewed', name));
      await until(async () => {
        // A pool closes a connection that is idle for long, and with it ends its transaction.
        await stranger.rows('SELECT 1');
        return names.every((name, i) => heard('renewed', name) >= (before[i] ?? 0) + 3);
      });
    };
    await renewals(NAMES);
    await lockRow(LOCKED);
    await until(() => heard('renewal-failed', LOCKED) > 0);
    const before = heard('renewed', LOCKED);
    await renewals(NAMES.filter((name) => name !== LOCKED));
    expect(heard('renewed', LOCKED)).toBe(before);
    // It is that lock which is not available, and no outage of the store.
    const outages = app.events.filter(({ type }) => type.startsWith('outage'));
    expect(outages).toMatchObject([
      {
        type: 'outage',
        phase: 'started',
        lock: LOCKED,
        error: { code: 'LOCK_STATE', message: expect.stringContaining(table) },
      },
    ]);
    await stranger.write('ROLLBACK');
    await renewals(NAMES);
    expect(heard('outage-ended', LOCKED)).toBe(1);
    end();
    await Promise.all(runs);
    expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
  });

  test('the release of a lock whose row a stranger has locked leaves the connections of the pool to the others', async () => {
    const connections = 4;
    const small = database.pool(server.url, { max: connections });
    try {
      const app = await startApp([], { store: small.store({ table }), ttl: 1_000 });
      const locks = app.get(SchedulerLockService);
      const ends = new Map<string, () => void>();
      const runs = NAMES.map((name) =>
        locks.run(name, () => new Promise<void>((resolve) => ends.set(name, resolve))),
      );
      await until(() => ends.size === NAMES.length);
      await lockRow(LOCKED);
      ends.get(LOCKED)?.();
      const heard = (name: string): number =>
        app.events.filter((event) => event.type === 'renewed' && event.lock === name).length;
      const others = NAMES.filter((name) => name !== LOCKED);
      const before = others.map(heard);
      // Each of these runs would wait for the row as well.
      const asked: string[] = [];
      await until(
        async () => {
          const result = await locks.run(LOCKED, () => undefined);
          asked.push(result.ran ? 'ran' : result.reason);
          await stranger.rows('SELECT 1');
          return others.every((name, i) => heard(name) >= (before[i] ?? 0) + 3 * connections);
        },
        { timeout: 30_000, interval: 50 },
      );
      expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
      expect(asked).not.toContain('ran');
      const outages = app.events.filter(isEvent('outage-started'));
      // A busy machine may be silent for a third of a second, which is an outage of the store, and none of the row.
      expect(outages.flatMap(({ lock }) => lock ?? [])).toEqual([LOCKED]);
      await stranger.write('ROLLBACK');
      await until(async () => (await locks.run(LOCKED, () => undefined)).ran);
      for (const end of ends.values()) end();
      await Promise.all(runs);
      expect(app.events.filter(({ type }) => type === 'lost')).toEqual([]);
    } finally {
      await closeApps();
      await small.end();
    }
  });

  test('a renewal tells which row is locked, and renews the others', async () => {
    const leases: LeaseRef[] = [];
    for (const name of NAMES) leases.push(await lease(name));
    await pool.write(`UPDATE ${table} SET locked_at = '2000-01-01'`);
    await lockRow(LOCKED);
    const results = await store.extend(leases.map((each) => ({ ...each, ttl: 3_600_000 })));
    const [result] = results.splice(NAMES.indexOf(LOCKED), 1);
    expect(results).toEqual(results.map(() => ({ held: true })));
    expect(result).toMatchObject({ held: null, error: { code: 'LOCK_STATE', lock: LOCKED } });
    const renewed = await pool.rows(
      `SELECT name FROM ${table} WHERE lock_until > (SELECT lock_until FROM ${table} WHERE name = ?)`,
      [LOCKED],
    );
    expect(renewed).toHaveLength(NAMES.length - 1);
  });

  test('a renewal of most of the table does not wait for the rows of others', async () => {
    const leases: LeaseRef[] = [];
    for (const name of [...NAMES, 'job-of-another']) leases.push(await lease(name));
    await lockRow('job-of-another');
    expect(await store.extend(leases.slice(0, NAMES.length))).toEqual(NAMES.map(() => ({ held: true })));
  });
});

describe('MySQL', () => {
  let server: DatabaseServer;
  let pool: ReturnType<typeof testMysqlPool>;
  let table: string;

  beforeAll(async () => {
    server = await provideMysql();
    pool = testMysqlPool(server.url);
  }, 60_000);

  beforeEach(() => {
    table = uniqueTable('locked');
  });

  afterEach(async () => {
    await closeApps();
    await pool.query(`DROP TABLE IF EXISTS ${table}`);
  });

  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  /** Renews two thirds of the rows of a table while a row is locked that is one of them, and then one that is not. */
  async function renewals(store: MysqlLockStore): Promise<[one: ExtendResult[], another: ExtendResult[]]> {
    const leases: LeaseRef[] = [];
    for (const name of [...NAMES, 'a', 'b', 'z']) {
      const request = { name, token: randomUUID(), ttl: 60_000, holder: 'host' };
      const result = await store.acquire(request);
      if (result.acquired) leases.push({ ...request, fencingToken: result.fencingToken });
    }
    const stranger = await pool.getConnection();
    const renewedWhileLocked = async (name: string): Promise<ExtendResult[]> => {
      await stranger.query('START TRANSACTION');
      await stranger.query(`SELECT * FROM ${table} WHERE name = ? FOR UPDATE`, [name]);
      const results = await store.extend(leases.slice(0, NAMES.length));
      await stranger.query('ROLLBACK');
      return results;
    };
    try {
      return [await renewedWhileLocked(LOCKED), await renewedWhileLocked('a')];
    } finally {
      stranger.release();
    }
  }

  const allButOne = NAMES.map((name) =>
    name === LOCKED ? expect.objectContaining({ held: null }) : { held: true },
  );
  const all = NAMES.map(() => ({ held: true }));

  /** The pool as one to a MySQL 8, to which what is for a MariaDB alone is a comment. */
  const asMysql8 = {
    query: async (text: string, values: unknown[]): Promise<unknown> => {
      const [rows, fields] = await pool.query(text.replaceAll(/\/\*M!.*?\*\//g, ''), values);
      for (const row of Array.isArray(rows) ? rows : []) if ('server' in row) row.server = '8.0.36';
      return [rows, fields];
    },
  };

  test('a server that cannot be told not to wait fails at once, too, where a row is locked', async () => {
    const store = new MysqlLockStore(asMysql8, { table });
    await store.init();
    expect(await renewals(store)).toEqual([allButOne, all]);
  });

  test('on such a server a locked row stops its own job alone, of all jobs of that moment', async () => {
    const app = await startApp([], { store: new MysqlLockStore(asMysql8, { table }) });
    const locks = app.get(SchedulerLockService);
    const round = (names: readonly string[]) =>
      Promise.all(names.map(async (name) => (await locks.run(name, () => undefined)).ran));
    await round(NAMES);
    const stranger = await pool.getConnection();
    try {
      await stranger.query('START TRANSACTION');
      await stranger.query(`SELECT * FROM ${table} WHERE name = ? FOR UPDATE`, [LOCKED]);
      // The row stays locked until all of them are over.
      expect(await round(NAMES)).toEqual(NAMES.map((name) => name !== LOCKED));
      // A job that is alone there asks once, and does not wait either.
      expect(await round([LOCKED])).toEqual([false]);
    } finally {
      await stranger.query('ROLLBACK');
      stranger.release();
    }
    expect(await round([LOCKED])).toEqual([true]);
  });
});
