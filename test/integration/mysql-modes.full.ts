import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MYSQL } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { isMariadb } from '../support/mysql-server.js';
import { closeApps, startApp, startFailure } from './app.js';

/* Ways in which a session reads SQL that keep the store from working. */

let server: DatabaseServer;
let isMysql: boolean;

beforeAll(async () => {
  server = await MYSQL.provide();
  isMysql = !(await isMariadb(server.url));
}, 60_000);

afterAll(() => server?.stop());

test.each([
  ['ORACLE', /sql_mode ORACLE/],
  ['EMPTY_STRING_IS_NULL', /sql_mode EMPTY_STRING_IS_NULL/],
  ['NO_BACKSLASH_ESCAPES', /sql_mode NO_BACKSLASH_ESCAPES/],
])('an application does not start in the sql_mode %s', async (mode, problem) => {
  const table = uniqueTable('modes');
  if (isMysql && mode !== 'NO_BACKSLASH_ESCAPES') {
    const other = MYSQL.pool(server.url, { max: 1 });
    await expect(other.rows(`SET SESSION sql_mode = '${mode}'`)).rejects.toThrow("can't be set to the value");
    return other.end();
  }
  const pool = MYSQL.pool(server.url, { max: 2, session: [`SET SESSION sql_mode = '${mode}'`] });
  try {
    const message = await startFailure(startApp([], { store: pool.store({ table }) }));
    expect(message).toMatch(problem);
    expect(message).toContain("SET SESSION sql_mode = '");
  } finally {
    await closeApps();
    for (const suffix of ['', '_entries']) await pool.write(`DROP TABLE IF EXISTS ${table}${suffix}`);
    await pool.end();
  }
});

test('a connection that has made the tables waits for a locked table as long as before', async () => {
  const table = uniqueTable('modes');
  const pool = MYSQL.pool(server.url, { max: 1, session: ['SET SESSION lock_wait_timeout = 77'] });
  try {
    await pool.store({ table }).init();
    expect(await pool.rows('SELECT @@SESSION.lock_wait_timeout AS seconds')).toEqual([{ seconds: 77 }]);
  } finally {
    for (const suffix of ['', '_entries']) await pool.write(`DROP TABLE IF EXISTS ${table}${suffix}`);
    await pool.end();
  }
});
