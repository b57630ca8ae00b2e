import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

const attempt = () => ({ name: 'job', token: randomUUID(), ttl: 60_000, holder: 'host' });
const unavailable = { code: 'STORE_UNAVAILABLE', outcome: 'not-applied' };

async function works(store: SqlStore): Promise<void> {
  expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
  expect(await store.acquire(attempt())).toMatchObject({ reason: 'held', holder: 'host' });
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (_name, database) => {
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

  test.each([
    ['state', false],
    ['version', true],
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
        const start = { ...attempt(), job: 'Jobs.report', interval: 60_000 };
        const error = await store.acquire(start).catch((reason: unknown) => reason);
        expect(error).toMatchObject(unavailable);
        ({ message } = error as Error);
        expect(message).toMatch(
          new RegExp(`is gone, or lacks a column: .*${column}.*forgotten.*ALTER TABLE`, 's'),
        );
      }
      await expect(pool.rows(`SELECT ${column} FROM ${table}`)).rejects.toThrow();
      if (migrate) await pool.store({ table }).init();
      else await store.migrate();
      await works(store);
    },
  );

  test('a start that a transaction keeps from the table fails with what to run, lets others read in between, and is done after it', async () => {
    const table = newTable();
    await pool.write(database.shedlock(table));
    const other = database.pool(server.url, { max: 1 });
    try {
      await other.rows('START TRANSACTION');
      await other.rows(`SELECT * FROM ${table}`);
      const store = pool.store({ table });
      let reads = 0;
      let isOver = false;
      const start = store.init().finally(() => (isOver = true));
      const reading = (async () => {
        for (; !isOver; reads++) await pool.rows(`SELECT * FROM ${table}`);
      })();
      await expect(start).rejects.toMatchObject({
        code: 'SCHEDULER_LOCK_CONFIG',
        message: expect.stringMatching(/could not be created: .*[Ll]ock.*ALTER TABLE/s),
      });
      await reading;
      expect(reads).toBeGreaterThan(0);
      await other.rows('COMMIT');
      await store.init();
      await works(store);
    } finally {
      await other.end();
    }
  });

  test('what was put right between two calls is noticed by the first one', async () => {
    const table = newTable();
    const store = pool.store({ table });
    await store.init();
    await works(store);
    await pool.write(`DROP TABLE ${table}`);
    await pool.store({ table }).migrate();
    await works(store);
  });
});
