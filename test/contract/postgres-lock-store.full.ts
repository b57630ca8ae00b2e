import { afterAll, beforeAll, describe, jest, test } from '@jest/globals';
import type pg from 'pg';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { describeLockStore } from './cases/contract.js';
import type { DatabaseServer } from '../support/database-server.js';
import { providePostgres, testPool } from '../support/postgres-server.js';
import { databaseContract, whatDiffers } from './support/database-subject.js';

// Some cases open a thousand connections. One that is timed out would empty the table under the next one.
jest.setTimeout(300_000);

let server: DatabaseServer;

beforeAll(async () => {
  server = await providePostgres();
}, 60_000);

afterAll(() => server?.stop());

/** All cases, as most users have it. The variants below repeat those that they could change. */
describe('with the defaults of the server', () => {
  const contract = databaseContract({
    connect: () => testPool(server.url, { max: 8 }),
    store: (pool, name) => new PostgresLockStore(pool, { table: name }),
    parameter: '$1',
  });
  afterAll(() => contract.close());
  describeLockStore('PostgresLockStore', contract.options, { describe, test });
});

/** Settings of the user's pool, and a table that ShedLock has made. */
const VARIANTS: [what: string, options: string, table?: string | undefined, pool?: pg.PoolConfig][] = [
  ['at SERIALIZABLE', '-c default_transaction_isolation=serializable'],
  // As behind a proxy that pools transactions: what a session knows is gone with the next statement.
  ['in a new session for each statement', '', undefined, { maxUses: 1 }],
  [
    'on a table of ShedLock, far from UTC',
    '-c timezone=Asia/Kolkata',
    // The suite has names of 200 characters; ShedLock's column has room for 64.
    `CREATE TABLE %t(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL,
    locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name));
    ALTER TABLE %t ALTER COLUMN name TYPE VARCHAR(255)`,
  ],
];

for (const [what, options, table, settings] of VARIANTS) {
  describe(what, () => {
    const contract = databaseContract({
      connect: () => testPool(server.url, { max: 8, options, ...settings }),
      store: (pool, name) => new PostgresLockStore(pool, { table: name }),
      parameter: '$1',
      create: table === undefined ? [] : [table],
    });
    afterAll(() => contract.close());
    describeLockStore('PostgresLockStore', contract.options, { describe, test: whatDiffers(test) });
  });
}
