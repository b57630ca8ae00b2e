import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { DATABASES, POSTGRES } from '../support/database.js';
import { testPool } from '../support/postgres-server.js';
import { until } from '../support/until.js';
import { shedLock } from '../integration/support/shedlock.js';
import { hold, logged, startApp, type TestApp } from './support/app.js';
import { onDatabase, onEachDatabase } from './support/sql-suite.js';
import { faultSuite } from './support/suite.js';
import { inOrder, Runs, standing } from './support/turns.js';

faultSuite();

onEachDatabase((sql) => {
  let runs: Runs;
  beforeEach(() => void (runs = new Runs()));
  afterEach(() => expect(runs.overlaps).toEqual([]));

  const start = (): Promise<TestApp> =>
    startApp({ store: sql.open(sql.url).store({ table: sql.table }), ttl: '3s' });

  test('a table that lost its rows grants nobody in line a lock that its holder has, and keeps their order', async () => {
    const apps = [await start(), await start()];
    const holder = await hold(apps[0] as TestApp, 'lock');
    const calls = await standing(runs, apps, 6);
    await sql.pool.write(`DELETE FROM ${sql.table}`);
    await until(() => apps[0]?.heard('renewed', 'lock').some(({ restored }) => restored));
    expect(runs.order).toEqual([]);
    await holder.end();
    await Promise.all(calls);
    expect(runs.order).toEqual(inOrder(6));
  });

  test('a ShedLock on the same row goes on working, and those in line come after it', async () => {
    const apps = [await start(), await start()];
    const [database] = DATABASES.filter(({ name }) => expect.getState().currentTestName?.includes(name));
    if (database === undefined) throw new Error('which database?');
    const spring = shedLock(database, sql.pool, sql.table);
    const holder = await hold(apps[0] as TestApp, 'lock');
    const calls = await standing(runs, apps, 4);
    expect(await spring.lock('lock', 60_000)).toBe(false);
    await holder.end();
    await Promise.all(calls);
    await until(() => spring.lock('lock', 60_000));
    const later = await standing(runs, apps, 4, 4);
    expect(runs.order).toEqual(inOrder(4));
    await spring.unlock('lock');
    await Promise.all(later);
    expect(runs.order).toEqual(inOrder(8));
  });
});

onDatabase('with a client that loses its connection', POSTGRES, (sql) => {
  test('a call that has entered the line, and does not learn it, leaves it', async () => {
    const pool = testPool(sql.url, { max: 8 });
    let isCut = false;
    const query = async (text: string, values?: unknown[]): Promise<unknown> => {
      if (isCut) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
      const result = await pool.query(text, values);
      if (!values?.some((value) => String(value).includes('"process":'))) return result;
      isCut = true;
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    };
    try {
      const store = new PostgresLockStore({ query }, { table: sql.table });
      const [one, two] = [
        await startApp({ store: sql.open(sql.url).store({ table: sql.table }), ttl: '3s' }),
        await startApp({ store, ttl: '3s' }),
      ];
      const holder = await hold(one, 'lock');
      const call = two.locks.run('lock', { wait: '1m' }, () => 'never');
      expect(await call).toMatchObject({ ran: false, reason: 'store-unavailable' });
      const stands = async () => {
        const inLine = `SELECT id FROM ${sql.table}_entries WHERE kind = 'wait'`;
        return (await sql.pool.rows(inLine)).length > 0;
      };
      expect(await stands()).toBe(true);
      isCut = false;
      await until(async () => !(await stands()), { message: 'the call to leave' });
      await holder.end();
      await Promise.all([one.close(), two.close()]);
    } finally {
      await pool.end();
    }
  });
});

onDatabase('with a connection for notifications', POSTGRES, (sql) => {
  let runs: Runs;
  beforeEach(() => void (runs = new Runs()));
  afterEach(() => expect(runs.overlaps).toEqual([]));

  const start = (listen: boolean | object = true): Promise<TestApp> =>
    startApp({ store: sql.open(sql.url).store({ table: sql.table, listen }), ttl: '3s' });
  const listening = async (): Promise<number[]> => {
    const backends = await sql.pool.rows(
      `SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN scheduler_lock_%' AND datname = current_database()`,
    );
    return backends.map(({ pid }) => Number(pid));
  };

  test('calls of three instances run one after another, and the connections are opened with the first wait and closed with the application', async () => {
    const apps = await Promise.all([start(), start(), start()]);
    expect(await listening()).toEqual([]);
    const holder = await hold(apps[0], 'lock');
    const calls = await standing(runs, apps, 30);
    await until(async () => (await listening()).length === 3);
    await holder.end();
    await Promise.all(calls);
    expect(runs.order).toEqual(inOrder(30));
    await Promise.all(apps.map((app) => app.close()));
    await until(async () => (await listening()).length === 0);
    expect(logged()).toEqual([]);
  });

  test('connections that break while the lock is handed over cost nobody a turn, and come back', async () => {
    const apps = await Promise.all([start(), start(), start()]);
    const holder = await hold(apps[0], 'lock');
    const calls = await standing(runs, apps, 30);
    const before = await until(async () => {
      const pids = await listening();
      return pids.length === 3 && pids;
    });
    const breaking = sql.pool.rows(
      `SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[${before.join()}]) AS pid`,
    );
    await holder.end();
    await breaking;
    await Promise.all(calls);
    expect(runs.order).toEqual(inOrder(30));
    const last = await hold(apps[0], 'lock');
    const one = runs.call(apps[1], 'last');
    await until(async () => (await listening()).some((pid) => !before.includes(pid)));
    await last.end();
    await one;
  });

  test('notifications that do not arrive are found out, and said once, and calls ask instead', async () => {
    // What a proxy that pools transactions does to them. `template1` is another database of the same server.
    const app = await start({
      connectionString: Object.assign(new URL(sql.url), { pathname: '/template1' }).href,
    });
    let holder = await hold(app, 'lock');
    const calls: Promise<unknown>[] = [];
    await until(async () => {
      calls.push(runs.call(app, 'one of them'));
      await app.event('waiting', 'lock', calls.length);
      return logged(/calls in line/).length > 0;
    });
    expect(logged()).toEqual([expect.stringMatching(/^warn: .*does not arrive.*`listen`.*PgBouncer/)]);
    await holder.end();
    await Promise.all(calls);
    holder = await hold(app, 'lock');
    const again = runs.call(app, 'again');
    await app.event('waiting', 'lock', calls.length + 1);
    await holder.end();
    await again;
    expect(logged()).toHaveLength(1);
  });

  test('a client that is no pool cannot listen', () => {
    const query = () => Promise.resolve([]);
    expect(() => new PostgresLockStore({ query }, { listen: true })).toThrow(/listen.*Pool of `pg`/);
  });
});
