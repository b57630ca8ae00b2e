import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { POSTGRES, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

/* Databases that do not keep every character. */

let server: DatabaseServer;

beforeAll(async () => {
  server = await POSTGRES.provide();
}, 60_000);

afterAll(() => server?.stop());

/** A pool to a database of its own, with this encoding. */
async function inDatabase(encoding: string, use: (pool: TestPool) => Promise<void>): Promise<void> {
  const name = uniqueTable('encoding');
  const own = POSTGRES.pool(server.url, { max: 1 });
  await own.write(
    `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  );
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const pool = POSTGRES.pool(url.href);
  try {
    await use(pool);
  } finally {
    await pool.end();
    await own.write(`DROP DATABASE ${name}`);
    await own.end();
  }
}

test.each(['LATIN1', 'SQL_ASCII'])('a database in the encoding %s is refused at the start', (encoding) =>
  inDatabase(encoding, async (pool) => {
    await expect(pool.store().init()).rejects.toMatchObject({
      code: 'SCHEDULER_LOCK_CONFIG',
      message: expect.stringMatching(`encoding ${encoding}.*UTF8`),
    });
  }),
);
