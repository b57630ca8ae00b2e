import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../lib/index.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { provideMysql, testMysqlPool } from '../support/mysql-server.js';

/* A batch is answered by a number: how many of its rows were written. If not all were, a read tells which, and others may write before it. */

const HOUR = 3_600_000;

let server: DatabaseServer;
let pool: ReturnType<typeof testMysqlPool>;
let table: string;
let two: MysqlLockStore;

beforeAll(async () => {
  server = await provideMysql();
  pool = testMysqlPool(server.url);
}, 60_000);

beforeEach(async () => {
  table = uniqueTable('batches');
  two = new MysqlLockStore(pool, { table });
  await two.init();
});

afterEach(() => pool.query(`DROP TABLE IF EXISTS ${table}`));

afterAll(async () => {
  await pool?.end();
  await server?.stop();
});

async function take(store: LockStore, name: string): Promise<LeaseRef> {
  const request = { name, token: randomUUID(), ttl: HOUR, holder: 'host' };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

/** A call in line: it writes the row, and leaves the lease alone. */
async function standInLine(store: LockStore, name: string): Promise<void> {
  const wait = { limit: HOUR, priority: 0, process: 'process' };
  const result = await store.acquire({ name, token: randomUUID(), ttl: HOUR, holder: 'waiting', wait });
  expect(result).toMatchObject({ acquired: false, reason: 'held' });
}

/** An instance between whose writes and the reads after them others do something. */
async function disturbed(disturb: () => Promise<unknown>): Promise<{ store: MysqlLockStore; reads: number }> {
  let reads = 0;
  let hasWrittenSeveral = false;
  const query = async (text: string, values: unknown[]): Promise<unknown> => {
    if (hasWrittenSeveral) {
      reads += 1;
      await disturb();
    }
    hasWrittenSeveral = /UPDATE .*name IN \(\?, /s.test(text);
    return pool.query(text, values);
  };
  const store = new MysqlLockStore({ query }, { table });
  await store.init();
  return {
    store,
    get reads() {
      return reads;
    },
  };
}

test('a release that was carried out is never told as taken, if the next holder is faster than the read that tells', async () => {
  let next: LeaseRef | undefined;
  const one = await disturbed(async () => void (next = await take(two, 'a')));
  const leases = [await take(one.store, 'a'), await take(one.store, 'b')];
  await standInLine(two, 'b');
  const results = await Promise.allSettled(leases.map((lease) => one.store.release(lease)));
  expect(one.reads).toBe(1);
  expect(next).toBeDefined();
  expect(results).toMatchObject([
    // The row does not tell by then whether this lease has freed the lock.
    { status: 'rejected', reason: { code: 'STORE_UNAVAILABLE', outcome: 'unknown' } },
    // Nor would it of this one, but it has the lock, and gives it back now.
    { status: 'fulfilled', value: { released: true } },
  ]);
});

test('the others of its batch are answered', async () => {
  const one = await disturbed(() => take(two, 'a'));
  const leases: LeaseRef[] = [];
  for (const name of ['a', 'b', 'c', 'd']) leases.push(await take(one.store, name));
  await standInLine(two, 'b');
  // Its lease has run out, and nobody has written.
  await pool.query(`UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = 'd'`);
  const results = await Promise.allSettled(leases.map((lease) => one.store.release(lease)));
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'unknown'))).toEqual([
    'unknown',
    { released: true },
    { released: true },
    { released: false, reason: 'expired' },
  ]);
});

test('the number tells of those that others have changed, if it is of all or of none of them', async () => {
  const one = await disturbed(() => take(two, 'a'));
  const leases: LeaseRef[] = [];
  for (const name of ['a', 'b', 'c']) leases.push(await take(one.store, name));
  await pool.query(`UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = 'c'`);
  expect(await Promise.all(leases.map((lease) => one.store.release(lease)))).toEqual([
    { released: true },
    { released: true },
    { released: false, reason: 'expired' },
  ]);
});
