import { afterEach, expect, test } from '@jest/globals';
import type { EventEmitter } from 'node:events';
import type { LockStore } from '../../lib/index.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { MYSQL, POSTGRES, type TestDatabase } from '../support/database.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';
import { startApp, type TestApp } from './support/app.js';
import { onDatabase } from './support/sql-suite.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/* Needs the machine for itself: what is late by more than a call's limit is skipped, as it should be. */

/** How far away the database is, there and back, ms. */
const ROUND_TRIP = 120;
const INSTANCES = 3;
const JOBS = 100;
const VOLLEYS = 3;

interface Opened {
  readonly store: LockStore;
  readonly pool: EventEmitter & { end(): Promise<unknown> };
}

function onPool(what: string, database: TestDatabase, open: (url: string, table: string) => Opened): void {
  onDatabase(what, database, (sql) => {
    const pools: Opened['pool'][] = [];
    afterEach(async () => {
      sql.proxy.delay(0);
      await Promise.all(pools.splice(0).map((pool) => pool.end()));
    });

    test('the jobs of one moment run once each, without an outage, and with few statements', async () => {
      let statements = 0;
      const start = async () => {
        const { store, pool } = open(sql.proxied, sql.table);
        pools.push(pool);
        pool.on('acquire', () => (statements += 1));
        return startApp({ store, ttl: '1m' });
      };
      const apps: TestApp[] = [];
      while (apps.length < INSTANCES) apps.push(await start());
      sql.proxy.delay(ROUND_TRIP / 2);
      const names = Array.from({ length: JOBS }, (_, i) => `job-${i}`);
      for (let volley = 0; volley < VOLLEYS; volley++) {
        const tick = Date.now();
        statements = 0;
        const results = await Promise.all(
          apps.flatMap((app) => names.map((name) => app.locks.run(name, { tick }, () => undefined))),
        );
        expect(results.filter(({ ran }) => ran)).toHaveLength(JOBS);
        expect(apps.flatMap((app) => app.heard('outage-started'))).toEqual([]);
        // A lease and its release for each, looks, and attempts at what another instance takes at that moment.
        expect(statements).toBeLessThan(5 * JOBS);
      }
    });
  });
}

onPool('with a pool of pg', POSTGRES, (url, table) => {
  const pool = testPool(url);
  return { store: new PostgresLockStore(pool, { table }), pool };
});

onPool('with a pool of mysql2', MYSQL, (url, table) => {
  const pool = testMysqlPool(url);
  return { store: new MysqlLockStore(pool, { table }), pool };
});
