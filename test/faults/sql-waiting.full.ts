import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { v4 as uuid } from 'uuid';
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

  const start = (url = sql.url, more: object = {}): Promise<TestApp> =>
    startApp({ store: sql.open(url).store({ table: sql.table }), ttl: '3s', ...more });

  const three = (): Promise<TestApp[]> => Promise.all([start(), start(), start()]);

  test('calls of three instances run one after another in the order in which they came, and leave nothing behind', async () => {
    const apps = await three();
    const holder = await hold(apps[0] as TestApp, 'lock');
    const calls = await standing(runs, apps, 12);
    await holder.end();
    for (const result of await Promise.all(calls)) expect(result).toMatchObject({ ran: true });
    expect(runs.order).toEqual(inOrder(12));
    expect(runs.tokens).toEqual([...runs.tokens].sort((a, b) => a - b));
    expect(JSON.stringify((await sql.row('lock'))['job_state'])).not.toContain('line');
  });

  test('greater priority goes first, and nobody who does not wait goes before the line', async () => {
    const apps = await three();
    const [one, two, other] = apps as [TestApp, TestApp, TestApp];
    const holder = await hold(one, 'lock');
    const low = runs.call(one, 'low');
    await one.event('waiting', 'lock');
    const high = runs.call(two, 'high', { priority: 5 });
    await two.event('waiting', 'lock');
    let isOver = false;
    const barging = (async () => {
      const reasons = new Set<string>();
      while (!isOver) {
        const result = await other.locks.run('lock', () => runs.order.push('barged'));
        if (!result.ran) reasons.add(result.reason);
      }
      return [...reasons];
    })();
    await holder.end();
    await Promise.all([low, high]);
    isOver = true;
    expect(await barging).toEqual(['held']);
    expect(runs.order.slice(0, 2)).toEqual(['high', 'low']);
  });

  test('a process that dies with a hundred calls in line, which is full then, costs the others one turn', async () => {
    const app = await start();
    const dead = sql.open(sql.url).store({ table: sql.table });
    await dead.init();
    const holder = await hold(app, 'lock');
    const wait = { limit: 60_000, priority: 0, process: uuid() };
    const request = () => ({ name: 'lock', token: uuid(), ttl: 3_000, holder: 'dead', wait });
    await Promise.all(Array.from({ length: 100 }, () => dead.acquire(request())));
    const call = runs.call(app, 'living');
    await app.event('waiting', 'lock');
    await holder.end();
    expect(await call).toMatchObject({ ran: true });
    expect(await app.locks.run('lock', () => 'free')).toEqual({ ran: true, value: 'free' });
  });

  test('a database that was away ends no wait, and keeps the order', async () => {
    const apps = [await start(sql.proxied, { ttl: '30s' }), await start(sql.proxied, { ttl: '30s' })];
    const [one, two] = apps as [TestApp, TestApp];
    const holder = await hold(one, 'lock');
    const calls = await standing(runs, apps, 4);
    await sql.proxy.refuse(true);
    await two.event('outage-started');
    await sql.proxy.refuse(false);
    await two.event('outage-ended');
    await holder.end();
    await Promise.all(calls);
    expect(runs.order).toEqual(inOrder(4));
  });

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

  test('a call that gives up leaves the line, and an application that closes hands its turn on', async () => {
    const apps = await three();
    const [one, two, three_] = apps as [TestApp, TestApp, TestApp];
    const holder = await hold(one, 'lock');
    const giveUp = new AbortController();
    const given = runs.call(one, 'given up', { signal: giveUp.signal });
    await one.event('waiting', 'lock');
    const closing = runs.call(two, 'closing');
    await two.event('waiting', 'lock');
    const last = runs.call(three_, 'last');
    await three_.event('waiting', 'lock');
    giveUp.abort(new Error('enough'));
    await expect(given).rejects.toThrow('enough');
    await Promise.all([two.close(), holder.end()]);
    expect(await closing).toMatchObject({ ran: false, reason: 'shutting-down' });
    expect(await last).toMatchObject({ ran: true });
    expect(runs.order).toEqual(['last']);
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
      if (text.includes("'calls', coalesce(")) isCut = true;
      return result;
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
      const stands = async () => JSON.stringify((await sql.row('lock'))['job_state']).includes('"place"');
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
