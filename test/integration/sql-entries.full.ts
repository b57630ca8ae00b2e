import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mysql from 'mysql2/promise';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import type { NewQueuedCall } from '../../lib/contract/queued-call-store.js';
import { DATABASES, POSTGRES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { testPool } from '../support/postgres-server.js';

/* The table of entries: what many entries, long names and other transactions do to its statements. */

const TAKES = [{ job: 'job', ttl: 60_000 }];
const DAY = 86_400_000;
/** So many locks of which one clean-up deletes so many entries each. */
const [LOCKS, MANY] = [10, 1_000];
/** The longest name of a table that leaves room for the suffix on PostgreSQL. */
const LONGEST = 63 - '_entries'.length;

describe.each(DATABASES)('in $name', (database) => {
  const table = uniqueTable('entries');
  let server: DatabaseServer;
  let pool: TestPool;
  let store: SqlStore;
  let statements = 0;
  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url, { onStatement: () => (statements += 1) });
    store = pool.store({ table });
    await store.init();
    await store.history.init();
  });
  afterAll(async () => {
    for (const each of [table, `${table}_entries`]) await pool.write(`DROP TABLE IF EXISTS ${each}`);
    await pool.end();
    await server.stop();
  });

  async function take(name: string): Promise<LeaseRef> {
    const request: AcquireRequest = { name, token: randomUUID(), ttl: 60_000, holder: 'host' };
    const result = await store.acquire(request);
    if (!result.acquired) throw new Error(`not acquired: ${result.reason}`);
    return { ...request, fencingToken: result.fencingToken };
  }

  const callOf = (name: string, fields: Partial<NewQueuedCall> = {}): NewQueuedCall => ({
    name,
    id: randomUUID(),
    job: 'job',
    args: '[]',
    priority: 0,
    max: 10,
    redeliver: 0,
    ...fields,
  });

  /** A lease that has taken a new queued call of its lock. */
  async function taken(name: string): Promise<LeaseRef> {
    const lease = await take(name);
    const call = callOf(name);
    await store.queuedCalls.enqueue(call);
    const answer = await store.queuedCalls.next(lease, { takes: TAKES });
    const fencingToken = 'fencingToken' in answer ? answer.fencingToken : 0;
    return { ...lease, queuedCall: call.id, fencingToken };
  }

  test('a clean-up deletes thousands of entries at once', async () => {
    const locks = Array.from({ length: LOCKS }, (_, i) => `trimmed-${i}`);
    const run = (name: string, fencingToken: number, count: number) => ({
      name,
      token: randomUUID(),
      ttl: 1_000,
      holder: 'host',
      job: 'job',
      fencingToken,
      kept: { count, age: DAY },
    });
    // A few at a time: on a slow machine more would wait for their turn for too long.
    const few = 50;
    for (const name of locks)
      for (let done = 0; done < MANY; done += few)
        await Promise.all(
          Array.from({ length: Math.min(few, MANY - done) }, (_, i) =>
            store.history.interrupted(run(name, done + i + 1, 2 * MANY)),
          ),
        );
    // An instance that is to keep fewer.
    const other = pool.store({ table });
    for (const name of locks) {
      const { kept, ...lease } = run(name, MANY + 1, 5);
      await other.release(lease, { outcome: 'failed', record: { kept, duration: 1 } });
    }
    await other.close();
    const [row] = await pool.rows(`SELECT count(*) AS n FROM ${table}_entries WHERE name LIKE 'trimmed-%'`);
    expect(Number(row?.['n'])).toBe(LOCKS * 5);
  }, 120_000);

  test('the end of a queued call waits for no row of another lock', async () => {
    const lease = await taken('ending');
    await store.queuedCalls.enqueue(callOf('busy'));
    const end = await lockRows(`SELECT id FROM ${table}_entries WHERE name = 'busy' FOR UPDATE`);
    try {
      const ended = store.queuedCalls.next(lease, { takes: TAKES, outcome: 'completed' });
      expect(await ended).toEqual({ held: true, dead: [] });
    } finally {
      await end();
    }
  });

  /** Locks rows in a transaction of another client. Returns what ends it. */
  async function lockRows(text: string): Promise<() => Promise<void>> {
    if (database === POSTGRES) {
      const other = testPool(server.url, { max: 1 });
      for (const statement of ['BEGIN', text]) await other.query(statement);
      return () => other.end();
    }
    const other = await mysql.createConnection(server.url);
    for (const statement of ['BEGIN', text]) await other.query(statement);
    return () => other.end();
  }

  test('a table with the longest name that leaves room for entries has all indexes', async () => {
    const name = uniqueTable('long').padEnd(LONGEST, 'x');
    const long = pool.store({ table: name });
    await long.init();
    expect(await long.history.init()).toBeUndefined();
    const indexes =
      database === POSTGRES
        ? 'SELECT indexname AS name FROM pg_indexes WHERE tablename = ?'
        : 'SELECT DISTINCT index_name AS name FROM information_schema.statistics WHERE table_name = ?';
    const found = await pool.rows(indexes, [`${name}_entries`]);
    await long.close();
    for (const each of [name, `${name}_entries`]) await pool.write(`DROP TABLE ${each}`);
    // The key, the slots, and three more.
    expect(found).toHaveLength(5);
  });

  test('the dead letters of many locks are shown by a few statements', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `dead-${i}`);
    for (const name of names) {
      const lease = await taken(name);
      await store.queuedCalls.next(lease, { takes: TAKES, outcome: 'failed' });
    }
    const before = statements;
    const locks = await store.inspect(names);
    expect(locks.map(({ dead }) => dead?.length)).toEqual(names.map(() => 1));
    expect(statements - before).toBeLessThan(6);
  });
});
