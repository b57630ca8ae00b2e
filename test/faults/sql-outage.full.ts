import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { hold, logged, startApp, type TestApp } from './support/app.js';
import { onEachDatabase } from './support/sql-suite.js';
import { StoreGate } from './support/store-gate.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Ticks of as many jobs come at the same moment, more than a pool has connections. */
const JOBS = Array.from({ length: 25 }, (_, index) => `job-${index}`);

onEachDatabase((sql) => {
  let runs = 0;
  const count = (): number => ++runs;

  /** An application by way of the proxy, and what counts its calls. */
  async function startProxied(storeTimeout: number): Promise<{ app: TestApp; gate: StoreGate }> {
    runs = 0;
    const gate = new StoreGate(sql.open(sql.proxied).store({ table: sql.table }));
    return { gate, app: await startApp({ store: gate, ttl: '1m', storeTimeout, shutdownTimeout: 50 }) };
  }

  const arrived = (gate: StoreGate): Promise<unknown> =>
    until(() => gate.underWay === 0, { message: () => `${gate.underWay} calls to arrive` });

  test('acquires that timed out through 50 ticks of a silent database leave no lock and run no job', async () => {
    const { app, gate } = await startProxied(1_000);
    sql.proxy.freeze();
    const reasons = new Set<string>();
    for (let round = 0; round < 2; round++) {
      const all = await Promise.all(JOBS.map((name) => app.locks.run(name, count)));
      for (const result of all) reasons.add(result.ran ? 'ran' : result.reason);
    }
    expect(reasons).toEqual(new Set(['store-unavailable']));
    sql.proxy.thaw();
    await arrived(gate);
    // Late acquires are taken back, whatever became of the first release.
    await until(async () => (await gate.inspect()).every(({ state }) => state === 'free'), {
      message: 'all locks to be free',
    });
    await until(async () => (await app.locks.run('afterwards', () => 'ran')).ran);
    await app.event('outage-ended');
    expect(logged().slice(0, 2)).toEqual([
      expect.stringMatching(
        /^error: The lock store is not available: no lock can be taken or renewed until it is\./,
      ),
      expect.stringMatching(/^log: The lock store is available again after .*; 50 runs were skipped$/),
    ]);
    await app.close();
    await arrived(gate);
    expect((await gate.inspect()).filter(({ state }) => state !== 'free')).toEqual([]);
    expect(runs).toBe(0);
  });

  test('an application that closes while the database is silent does not wait for it', async () => {
    const { app, gate } = await startProxied(500);
    await hold(app, 'job');
    sql.proxy.freeze();
    const run = app.locks.run('other', count);
    await app.close();
    expect(await run).toMatchObject({ ran: false });
    // Nothing has been answered yet.
    expect(gate.underWay).toBeGreaterThan(0);
    expect(runs).toBe(0);
  });

  test('an application starts while its database is away, and makes its table and runs its jobs when it is back', async () => {
    await sql.proxy.refuse();
    const { app } = await startProxied(1_000);
    expect(await app.locks.run('job', count)).toMatchObject({ ran: false, reason: 'store-unavailable' });
    await sql.proxy.refuse(false);
    await until(async () => (await app.locks.run('job', () => 'ran')).ran);
    expect(await sql.ended('completed')).toBe(true);
    expect(logged(/not available/)).toEqual([
      expect.stringMatching(/^warn: The lock store is not available/),
    ]);
    expect(runs).toBe(0);
  });

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
    runs = 0;
    const end = await exhausted(pool);
    expect(await app.locks.run('job', count)).toMatchObject({ ran: false, reason: 'store-unavailable' });
    expect(gate.underWay).toBeGreaterThan(0);
    await end();
    await arrived(gate);
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
