import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { SqlStore, TestDatabase, TestPool } from '../../support/database.js';
import { type DatabaseServer, uniqueTable } from '../../support/database-server.js';
import { closeApps } from '../app.js';

/** What the hooks of {@link useTable} fill in: to be read in a test. */
export interface UsedTable {
  /** Of the database. */
  url: string;
  pool: TestPool;
  table: string;
  /** A store that has made the table. */
  store: SqlStore;
}

/** Gives each test of a `describe` a table of its own. After it, applications end before their table goes. */
export function useTable(database: TestDatabase, label: string): UsedTable {
  const used = {} as UsedTable;
  let server: DatabaseServer | undefined;

  beforeAll(async () => {
    server = await database.provide();
    used.url = server.url;
    used.pool = database.pool(server.url);
  }, 60_000);

  beforeEach(async () => {
    used.table = uniqueTable(label);
    used.store = used.pool.store({ table: used.table });
    await used.store.init();
  });

  afterEach(async () => {
    await closeApps();
    for (const suffix of ['', '_entries'])
      await used.pool.write(`DROP TABLE IF EXISTS ${used.table}${suffix}`);
  });

  afterAll(async () => {
    await used.pool?.end();
    await server?.stop();
  });

  return used;
}
