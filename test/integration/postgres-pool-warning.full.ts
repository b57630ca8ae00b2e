import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { POSTGRES } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

/* What the settings of a pool are, and what the start says of them. */

let server: DatabaseServer;

beforeAll(async () => {
  server = await POSTGRES.provide();
}, 60_000);

afterAll(() => server?.stop());

async function warningOf(options: object, listens: boolean): Promise<string | undefined> {
  const pool = new Pool({ connectionString: server.url, max: 2, ...options });
  if (listens) pool.on('error', () => undefined);
  const store = new PostgresLockStore(pool, { table: uniqueTable('settings') });
  try {
    await store.init();
    return await store.warning?.();
  } finally {
    await store.close();
    await pool.end();
  }
}

test('a pool without the settings that the store needs is told in one sentence, with what they are for', async () => {
  const warning = await warningOf({}, false);
  expect(warning).toMatch(/on\('error', …\).*ends the process.*statement_timeout.*locked/);
  expect(warning).not.toContain('\n');
});

test('only what is missing is told', async () => {
  expect(await warningOf({ statement_timeout: 8_000 }, false)).not.toMatch(/statement_timeout/);
  expect(await warningOf({}, true)).not.toMatch(/'error'/);
});

test('a pool that has them, also by a setting of the user, has nothing to tell', async () => {
  expect(await warningOf({ statement_timeout: 8_000 }, true)).toBeUndefined();
  expect(await warningOf({ options: '-c statement_timeout=8s' }, true)).toBeUndefined();
});
