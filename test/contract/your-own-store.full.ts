import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { DocumentLockStore } from '../../lib/index.js';
import { describeLockDocuments } from '../../lib/testing/index.js';
import { describeLockStore } from './cases/contract.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { providePostgres, testPool } from '../support/postgres-server.js';
import { TableDocuments } from './support/table-documents.js';

/* The store that the page about stores of one's own builds. */

jest.setTimeout(120_000);

const root = join(import.meta.dirname, '../..');
const table = uniqueTable('own');
const now = Date.now.bind(Date);
const skewInstanceClock = (ms: number): void => {
  Date.now = ms === 0 ? now : () => now() + ms;
};
const wait = (ms: number): Promise<void> => sleep(ms);

let server: DatabaseServer;
let pools: pg.Pool[] = [];

const query = async (text: string, values: unknown[] = []): Promise<void> =>
  void (await pools[0]?.query(text.replace('%t', table), values));
const empty = (): Promise<void> => query('DELETE FROM %t');

function places(): { documents: TableDocuments; others: TableDocuments[] } {
  const [documents, ...others] = pools.map((pool) => new TableDocuments(pool, table));
  if (documents === undefined) throw new Error('No pool was made');
  return { documents, others };
}

beforeAll(async () => {
  server = await providePostgres();
  pools = [testPool(server.url), testPool(server.url)];
  await places().documents.init();
});

afterAll(async () => {
  await query('DROP TABLE IF EXISTS %t');
  await Promise.all(pools.map((pool) => pool.end()));
  await server?.stop();
});

describeLockDocuments(
  'the place of the page',
  {
    create: () => ({ ...places(), close: empty }),
    wait,
    skewInstanceClock,
    takeByStranger: (_documents, name, by, ttl) =>
      query(
        `UPDATE %t SET "by" = $2, until = extract(epoch FROM clock_timestamp()) * 1000 + $3 WHERE name = $1`,
        [name, by, ttl],
      ),
    async holdDocument(_documents, name) {
      const client = await pools[0]!.connect();
      await client.query('BEGIN');
      await client.query(`SELECT FROM ${table} WHERE name = $1 FOR UPDATE`, [name]);
      return async () => {
        await client.query('ROLLBACK');
        client.release();
      };
    },
  },
  { describe, test },
);

describeLockStore(
  'the store of the page',
  {
    create() {
      const { documents, others } = places();
      const [store, ...rest] = [documents, ...others].map((place) => new DocumentLockStore(place));
      return { store: store!, others: rest, close: empty };
    },
    wait,
    skewInstanceClock,
    inspects: true,
    forgetAll: empty,
    breakLock: (name) =>
      query(`UPDATE %t SET version = 'another', "by" = 'another', state = '{' WHERE name = $1`, [name]),
  },
  { describe, test },
);

test('the page has this code', () => {
  const page = readFileSync(join(root, 'docs/stores/your-own.md'), 'utf8');
  const code = readFileSync(join(import.meta.dirname, 'support/table-documents.ts'), 'utf8');
  expect(page).toContain(code.replace('../../../lib/index.js', 'nestjs-scheduler-lock'));
});
