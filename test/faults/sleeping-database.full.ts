import { afterEach, expect, test } from '@jest/globals';
import type { LockStore } from '../../lib/index.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { MYSQL, POSTGRES, type TestDatabase } from '../support/database.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';
import { until } from '../support/until.js';
import { startApp } from './support/app.js';
import { onDatabase } from './support/sql-suite.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** How long the database takes to wake up, ms: longer than one try, shorter than two. */
const WAKES = 4_000;
const STORE_TIMEOUT = 3_000;
const TICKS = 3;

interface Opened {
  readonly store: LockStore;
  end(): Promise<unknown>;
}

function onPool(what: string, database: TestDatabase, open: (url: string, table: string) => Opened): void {
  onDatabase(what, database, (sql) => {
    const ends: Opened['end'][] = [];
    afterEach(async () => void (await Promise.all(ends.splice(0).map((end) => end()))));

    test('that sleeps between ticks, and wakes slower than one try, runs each of them', async () => {
      const { store, end } = open(sql.proxied, sql.table);
      ends.push(end);
      // Histories would make connections of their own.
      const app = await startApp({ store, ttl: '1m', storeTimeout: STORE_TIMEOUT, insight: false });
      for (let round = 0; round < TICKS; round++) {
        // Nobody uses it, so it closes its connections, and is started with the next one.
        sql.proxy.cut();
        await until(() => sql.proxy.connections === 0);
        const wake = sql.proxy.holdReplies();
        setTimeout(wake, WAKES);
        expect(await app.locks.run('job', { tick: Date.now() }, () => undefined)).toMatchObject({
          ran: true,
        });
        // The one that the first try began to make was not thrown away.
        expect(sql.proxy.connections).toBeLessThanOrEqual(2);
      }
      expect(app.heard('outage-started')).toEqual([]);
      expect(app.heard('skipped')).toEqual([]);
    });
  });
}

onPool('a database behind a pool of pg', POSTGRES, (url, table) => {
  const pool = testPool(url, { connectionTimeoutMillis: 10_000, idleTimeoutMillis: 0 });
  return { store: new PostgresLockStore(pool, { table }), end: () => pool.end() };
});

onPool('a database behind a pool of mysql2', MYSQL, (url, table) => {
  const pool = testMysqlPool(url, { connectTimeout: 10_000 });
  const store = new MysqlLockStore(pool, { table, queryTimeout: '10s' });
  return { store, end: () => pool.end() };
});
