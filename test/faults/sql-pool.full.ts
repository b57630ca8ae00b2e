import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { hold, startApp } from './support/app.js';
import { onEachDatabase } from './support/sql-suite.js';
import { StoreGate } from './support/store-gate.js';
import { faultSuite } from './support/suite.js';

faultSuite();

onEachDatabase((sql) => {
  /** Has all connections of a pool of two wait for something of the application's own; answers with how to end that. */
  async function exhausted(pool: ReturnType<typeof sql.open>): Promise<() => Promise<void>> {
    const [own, blocker] = [`${sql.table}_own`, sql.open(sql.url, { max: 1 })];
    await blocker.write(`CREATE TABLE ${own} (id INT PRIMARY KEY)`);
    await blocker.write(`INSERT INTO ${own} VALUES (1)`);
    await blocker.rows('START TRANSACTION');
    await blocker.write(`UPDATE ${own} SET id = 2`);
    // Whoever asks a pool first has the connection.
    const waiting = [1, 2].map(() => pool.write(`UPDATE ${own} SET id = 3`));
    return async () => {
      await blocker.rows('COMMIT');
      await Promise.all(waiting);
      await blocker.write(`DROP TABLE ${own}`);
    };
  }

  test('while queries of the application take every connection of its pool runs are skipped, and none is made up for', async () => {
    const pool = sql.open(sql.url, { max: 2 });
    const gate = new StoreGate(pool.store({ table: sql.table }));
    const app = await startApp({ store: gate, ttl: '1m', storeTimeout: 300 });
    let runs = 0;
    const end = await exhausted(pool);
    expect(await app.locks.run('job', () => void runs++)).toMatchObject({
      ran: false,
      reason: 'store-unavailable',
    });
    expect(gate.underWay).toBeGreaterThan(0);
    await end();
    await until(() => gate.underWay === 0, { message: () => `${gate.underWay} calls to arrive` });
    await until(async () => (await app.locks.run('job', () => 'ran')).ran);
    expect(runs).toBe(0);
    expect(await sql.ended('completed')).toBe(true);
    expect(app.heard('outage-ended')[0]).toMatchObject({ skipped: 1 });
  });

  test('a job outlives a time in which its pool has no connection left, if that ends before the deadline', async () => {
    const pool = sql.open(sql.url, { max: 2 });
    const app = await startApp({
      store: pool.store({ table: sql.table }),
      ttl: '1m',
      heartbeat: 50,
      storeTimeout: 300,
    });
    const { end } = await hold(app, 'job');
    const { locked_by: by } = await sql.row();
    const free = await exhausted(pool);
    await app.event('renewal-failed');
    await free();
    await app.event('renewed', 'job', app.heard('renewed').length + 2);
    expect(app.heard('lost')).toEqual([]);
    expect((await sql.row())['locked_by']).toBe(by);
    await end();
    expect(app.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  });

  test('a job whose pool has no connection left until the deadline is told that it lost, and frees nothing', async () => {
    const pool = sql.open(sql.url, { max: 2 });
    const app = await startApp({ store: pool.store({ table: sql.table }), ttl: 1_500, heartbeat: 100 });
    const other = await startApp({ store: sql.open(sql.url).store({ table: sql.table }), ttl: '1m' });
    const { end } = await hold(app, 'job');
    const free = await exhausted(pool);
    const next = await hold(other, 'job');
    const { locked_by: by } = await sql.row();
    expect(await app.event('lost')).toMatchObject({ reason: 'deadline' });
    await free();
    await end();
    expect(app.heard('released')).toMatchObject([{ outcome: 'aborted', confirmed: false }]);
    await app.close();
    expect((await sql.row())['locked_by']).toBe(by);
    await next.end();
    expect(other.heard('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  });
});
