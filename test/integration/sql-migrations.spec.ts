import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { until } from '../support/until.js';

const attempt = () => ({ name: 'job', token: randomUUID(), ttl: 60_000, holder: 'host' });
const unavailable = { code: 'STORE_UNAVAILABLE', outcome: 'not-applied' };

async function works(store: SqlStore): Promise<void> {
  expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
  expect(await store.acquire(attempt())).toMatchObject({ reason: 'held', holder: 'host' });
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  let server: DatabaseServer;
  let pool: TestPool;
  const tables = new Set<string>();
  const newTable = (): string => {
    const table = uniqueTable('migrations');
    tables.add(table);
    return table;
  };

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url);
  }, 60_000);

  afterAll(async () => {
    for (const table of tables) await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server?.stop();
  });

  /** How many statements that alter a table are under way. */
  async function altering(table: string): Promise<number> {
    const statement = postgres
      ? `SELECT query FROM pg_stat_activity WHERE state = 'active' AND query LIKE ? AND query LIKE ?`
      : 'SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO LIKE ? AND INFO LIKE ?';
    return (await pool.rows(statement, ['ALTER TABLE%', `%${table}%`])).length;
  }

  /** Has somebody use a table of ShedLock's, so that it cannot be altered until the answered function is called. */
  async function usedTable(): Promise<{ table: string; free: () => Promise<void> }> {
    const table = newTable();
    await pool.write(database.shedlock(table));
    const user = database.pool(server.url, { max: 1 });
    await user.rows('START TRANSACTION');
    await user.rows(`SELECT * FROM ${table}`);
    const free = async (): Promise<void> => {
      await user.rows('COMMIT');
      await user.end();
    };
    return { table, free };
  }

  test.each([
    ['job_state', false],
    ['fencing_token', true],
  ])(
    'a column %s that is dropped is missed with what to run, by the first call, and never added by a running instance (migrate: %s)',
    async (column, migrate) => {
      const table = newTable();
      const store = pool.store({ table, migrate });
      await store.migrate();
      const request = attempt();
      const result = await store.acquire(request);
      const lease = { ...request, fencingToken: result.acquired ? result.fencingToken : 0 };
      await store.release(lease);
      await pool.write(`ALTER TABLE ${table} DROP COLUMN ${column}`);
      let message = '';
      for (let calls = 0; calls < 3; calls++) {
        const error = await store.acquire(attempt()).catch((reason: unknown) => reason);
        expect(error).toMatchObject(unavailable);
        ({ message } = error as Error);
        expect(message).toMatch(
          new RegExp(`has no column ${column}\\. It had that before.*forgotten.*run this:\nALTER TABLE`, 's'),
        );
      }
      await expect(pool.rows(`SELECT ${column} FROM ${table}`)).rejects.toThrow();
      if (migrate) await pool.store({ table }).init();
      else await pool.write(message.split('run this:\n')[1]?.replace(/;\n?$/, '') ?? '');
      await works(store);
    },
  );

  test('what was put right between two calls is noticed by the first one', async () => {
    const table = newTable();
    const store = pool.store({ table });
    await store.init();
    await works(store);
    await pool.write(`DROP TABLE ${table}`);
    await pool.store({ table }).migrate();
    await works(store);
  });

  test('a migration that has to wait is not given up, nor begun a second time, and then all works', async () => {
    const { table, free } = await usedTable();
    const store = pool.store({ table, queryTimeout: 700 });
    await until(async () => {
      await store.acquire(attempt()).catch(() => undefined);
      return altering(table);
    });
    // A call waits for it for longer than a statement may take.
    for (let calls = 0; calls < 2; calls++) {
      await expect(store.acquire(attempt())).rejects.toMatchObject({
        ...unavailable,
        message: expect.stringMatching(/no column .*Its migration has been running for \d+ s/),
      });
    }
    expect(await altering(table)).toBe(1);
    await free();
    await until(() => store.acquire(attempt()).then(({ acquired }) => acquired));
    expect(await altering(table)).toBe(0);
  });

  test('a start does not wait for a migration that takes long, and the store is usable when that is done', async () => {
    const { table, free } = await usedTable();
    const store = pool.store({ table, queryTimeout: 4_000 });
    await expect(store.init()).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringMatching(/Its migration has been running for 8 s/),
    });
    expect(await altering(table)).toBe(1);
    await free();
    await until(() => store.acquire(attempt()).then(({ acquired }) => acquired));
  });
});
