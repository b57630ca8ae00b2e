import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { DATABASES, POSTGRES } from '../support/database.js';
import { testPool } from '../support/postgres-server.js';
import { until } from '../support/until.js';
import { shedLock } from '../integration/support/shedlock.js';
import { hold, startApp, type TestApp } from './support/app.js';
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
      if (!values?.some((value) => /process\\?":/.test(String(value)))) return result;
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
