import { afterAll, beforeAll, describe, jest, test } from '@jest/globals';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { describeLockStore } from './cases/contract.js';
import { provideMysql, testMysqlPool } from '../support/mysql-server.js';
import type { DatabaseServer } from '../support/database-server.js';
import { databaseContract, whatDiffers } from './support/database-subject.js';

// Some cases open a thousand connections. One that is timed out would empty the table under the next one.
jest.setTimeout(300_000);

let server: DatabaseServer;

beforeAll(async () => {
  server = await provideMysql();
}, 60_000);

afterAll(() => server?.stop());

const SHEDLOCK = `CREATE TABLE %t(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,
  locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))`;

/** All cases, as most users have it. The variants below repeat those that they could change. */
describe('with the defaults of the server', () => {
  const contract = databaseContract({
    connect: () => testMysqlPool(server.url, { connectionLimit: 8 }),
    store: (pool, name) => new MysqlLockStore(pool, { table: name }),
    parameter: '?',
  });
  afterAll(() => contract.close());
  describeLockStore('MysqlLockStore', contract.options, { describe, test });
});

/** Settings of each session of the user's pool, and a table that ShedLock has made. */
const VARIANTS: [what: string, settings: string, table?: string[]][] = [
  ['at READ COMMITTED', 'TRANSACTION ISOLATION LEVEL READ COMMITTED'],
  ['with the sql_mode of ANSI', "sql_mode = 'ANSI,STRICT_TRANS_TABLES'"],
  ['at SERIALIZABLE', 'TRANSACTION ISOLATION LEVEL SERIALIZABLE'],
  [
    'on a table of ShedLock, far from UTC',
    "time_zone = '+05:30'",
    // The suite has names of 200 characters that differ in case; ShedLock's column has room for 64, in the collation of its database.
    [SHEDLOCK, 'ALTER TABLE %t MODIFY name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL'],
  ],
];

for (const [what, settings, table] of VARIANTS) {
  describe(what, () => {
    const contract = databaseContract({
      connect() {
        const pool = testMysqlPool(server.url, { connectionLimit: 8 });
        pool.on('connection', (connection) => void connection.query(`SET SESSION ${settings}`));
        return pool;
      },
      store: (pool, name) => new MysqlLockStore(pool, { table: name }),
      parameter: '?',
      create: table,
    });
    afterAll(() => contract.close());
    describeLockStore('MysqlLockStore', contract.options, { describe, test: whatDiffers(test) });
  });
}

// As behind a proxy that pools transactions: what a session knows is gone with the next statement.
describe('in a new session for each statement', () => {
  const contract = databaseContract({
    connect() {
      // It lets no more connections in than the server has room for.
      const pool = testMysqlPool(server.url, { connectionLimit: 16 });
      return {
        async query(text: string, values?: unknown[]) {
          const connection = await pool.getConnection();
          try {
            return await connection.query(text, values);
          } finally {
            connection.destroy();
          }
        },
        end: () => pool.end(),
      };
    },
    store: (client, name) => new MysqlLockStore(client, { table: name }),
    parameter: '?',
  });
  afterAll(() => contract.close());
  describeLockStore('MysqlLockStore', contract.options, { describe, test: whatDiffers(test) });
});
