import { expect, test } from '@jest/globals';
import { DATABASES } from '../support/database.js';
import { startApp, type TestApp } from './support/app.js';
import { onDatabase } from './support/sql-suite.js';
import { faultSuite } from './support/suite.js';
import { Runs } from './support/turns.js';

faultSuite();

/** How far away the database is, there and back, ms. */
const ROUND_TRIP = 60;
const INSTANCES = 10;
const CALLS = 20;

for (const database of DATABASES)
  onDatabase(`with ${database.name} at ${ROUND_TRIP} ms`, database, (sql) => {
    test('of many calls that wait at one moment none is skipped, and nobody reports an outage', async () => {
      const runs = new Runs();
      const apps: TestApp[] = [];
      for (let i = 0; i < INSTANCES; i++)
        // A busy machine is no outage: the test is about races.
        apps.push(
          await startApp({
            store: sql.open(sql.proxied).store({ table: sql.table }),
            ttl: '1m',
            storeTimeout: '20s',
          }),
        );
      sql.proxy.delay(ROUND_TRIP / 2);
      const calls = Array.from({ length: CALLS }, (_, i) =>
        runs.call(apps[i % INSTANCES] as TestApp, String(i)),
      );
      const results = await Promise.all(calls);
      expect(results.filter(({ ran }) => !ran)).toEqual([]);
      expect(runs.order).toHaveLength(CALLS);
      expect(runs.overlaps).toEqual([]);
      expect(apps.flatMap((app) => app.heard('outage-started'))).toEqual([]);
      sql.proxy.delay(0);
    });
  });
