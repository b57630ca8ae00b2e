import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { LeaseRef } from '../../lib/contract/lease-ref.js';
import type { QueueJob } from '../../lib/lock/drain.js';
import type { LockRunner } from '../../lib/lock/lock-runner.js';
import { Queues } from '../../lib/lock/queue/queues.js';
import type { RunRecord } from '../../lib/contract/history-store.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { DATABASES } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { testPool } from '../support/postgres-server.js';
import { until } from '../support/until.js';

/* Somebody has locked the table of the histories, for `VACUUM FULL` or a change of its columns. Statements that write there wait for that. */

const record: RunRecord = { kept: { count: 100, age: 86_400_000 }, duration: 12 };
/** More than a pool has connections. */
const MANY = 12;

const table = uniqueTable('locked_history');
let server: DatabaseServer;
let pool: pg.Pool;
let blocker: pg.Client;
let store: PostgresLockStore;

beforeAll(async () => {
  server = (await DATABASES.find(({ name }) => name === 'PostgreSQL')?.provide()) as DatabaseServer;
  pool = testPool(server.url, { max: 10 });
  blocker = new pg.Client({ connectionString: server.url });
  await blocker.connect();
  store = new PostgresLockStore(pool, { table });
  await store.init();
  await store.history.init();
}, 60_000);

afterAll(async () => {
  await store.close();
  for (const suffix of ['', '_entries']) await pool.query(`DROP TABLE IF EXISTS ${table}${suffix}`);
  await blocker.end();
  await pool.end();
  await server.stop();
});

async function take(name: string): Promise<LeaseRef> {
  const request = { name, token: randomUUID(), ttl: 60_000, holder: 'host', job: 'job', history: true };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`${name} is not free`);
  return { ...request, ...result };
}

test('who looks for queued calls again and again leaves connections for locks', async () => {
  await blocker.query('BEGIN');
  await blocker.query(`LOCK TABLE ${table}_entries IN ACCESS EXCLUSIVE MODE`);
  const clock = new ManualClock();
  const runner = { onQueued: () => undefined, openHints: () => undefined } as unknown as LockRunner;
  const queues = new Queues(store, runner, 'host', clock, () => undefined);
  queues.add({ job: 'job', settings: {}, isGone: () => false } as unknown as QueueJob);
  queues.start(false);
  for (let i = 0; i < MANY; i++) await clock.advance(5_000);
  const taken = await take('beside');
  queues.stop();
  await blocker.query('COMMIT');
  expect(taken).toMatchObject({ name: 'beside' });
});

test('releases do not wait for it, and leave connections for locks; records are kept when it is over', async () => {
  const names = Array.from({ length: MANY }, (_, n) => `lock-${n}`);
  const leases = await Promise.all(names.map(take));
  await blocker.query('BEGIN');
  await blocker.query(`LOCK TABLE ${table}_entries IN ACCESS EXCLUSIVE MODE`);
  const released = await Promise.all(
    leases.map((lease) => store.release(lease, { outcome: 'completed', record })),
  );
  expect(released).toEqual(leases.map(() => ({ released: true })));
  const [first] = await Promise.all(names.map(take));
  expect(await store.release(first as LeaseRef, { outcome: 'failed', record })).toEqual({ released: true });
  await blocker.query('COMMIT');
  const kept = async (): Promise<number> => {
    const entries = await Promise.all(names.map((name) => store.history.entries({ name, limit: 9 })));
    return entries.flat().length;
  };
  await until(async () => (await kept()) === MANY + 1);
});

test('writes of entries that wait for it hold up no renewal', async () => {
  const lease = await take('renewed');
  await blocker.query('BEGIN');
  await blocker.query(`LOCK TABLE ${table}_entries IN ACCESS EXCLUSIVE MODE`);
  const writes = Promise.allSettled(
    Array.from({ length: 3 * MANY }, (_, i) =>
      store.history.interrupted({ ...lease, name: `lost-${i}`, job: 'job', kept: record.kept }),
    ),
  );
  const renewed = await store.extend([lease]);
  await blocker.query('COMMIT');
  await writes;
  expect(renewed).toEqual([{ held: true }]);
});
