import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type mysql from 'mysql2/promise';
import type pg from 'pg';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { DATABASES, type SqlStore } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';

/*
 * How a driver represents what it reads is up to the user, for the whole process or pool.
 */

const asText = (value: string): unknown => value;
const asObject = (value: string): unknown => ({ value });
/** What a pool of `pg` makes of values. */
const parsing = (parse: (value: string) => unknown): pg.PoolConfig => ({
  types: { getTypeParser: () => parse as never },
});

const PARSERS: [what: string, config: pg.PoolConfig][] = [
  ['texts', parsing(asText)],
  ['objects', parsing(asObject)],
  ['numbers, if they can be', parsing((value) => (Number.isNaN(Number(value)) ? value : Number(value)))],
  ['words', parsing((value) => (value === 't' ? 'true' : value === 'f' ? 'false' : value))],
  ['big numbers', parsing((value) => (/^-?\d+$/.test(value) ? BigInt(value) : value))],
];

const MYSQL: [what: string, options: mysql.PoolOptions][] = [
  ['big numbers as texts', { supportBigNumbers: true, bigNumberStrings: true }],
  ['decimals as numbers', { decimalNumbers: true }],
  ['dates as texts', { dateStrings: true, timezone: '+05:30' }],
  ['JSON as texts', { jsonStrings: true }],
  ['rows as arrays', { rowsAsArray: true }],
  ['tables in tables', { nestTables: true }],
  ['names as placeholders', { namedPlaceholders: true }],
  ['values as they come', { typeCast: false }],
  ['values by a function', { typeCast: (field: { string(): string | null }) => ({ value: field.string() }) }],
  ['no strings of objects', { stringifyObjects: true }],
  ['rows that were changed', { flags: ['-FOUND_ROWS'] }],
];

/** All that a store reads. */
async function everything(store: SqlStore, again: SqlStore): Promise<void> {
  await store.init();
  await again.init();
  expect(await store.history.init()).toBeUndefined();
  const kept = { count: 10, age: 60_000 };
  const job = { job: 'job', history: true, holder: 'host' };
  const tick = Date.now() - 1_000;
  const cron = { ...job, name: 'cron', tick, schedule: '* * * * *', maxClockSkew: 60_000, ttl: 60_000 };
  const request = { ...cron, token: randomUUID() };
  const grant = await store.acquire(request);
  if (!grant.acquired) throw new Error(grant.reason);
  expect(grant.fencingToken).toBeGreaterThan(1_700_000_000_000_000);
  expect(grant.attempt).toBe(1);
  const lease = { ...request, fencingToken: grant.fencingToken };
  const other = { ...cron, token: randomUUID() };
  for (const each of [store, again])
    expect(await each.acquire(other)).toMatchObject({
      reason: 'held',
      holder: 'host',
      tick,
      expiresIn: expect.any(Number),
    });
  expect(await store.extend([lease])).toEqual([{ held: true }]);
  expect(await store.inspect()).toMatchObject([
    {
      name: 'cron',
      state: 'held',
      fencingToken: lease.fencingToken,
      jobs: [{ job: 'job', tick, attempt: 1 }],
    },
  ]);
  expect(await store.release(lease, { record: { kept, duration: 7 } })).toEqual({ released: true });
  expect(await again.acquire(other)).toMatchObject({ reason: 'already-ran', tick, finished: true });
  const next = { ...cron, tick: tick + 1, token: randomUUID(), schedule: '*/2 * * * *' };
  const taken = await again.acquire(next);
  expect(taken).toMatchObject({ acquired: true, previousSchedule: '* * * * *' });
  await again.release({ ...next, fencingToken: taken.acquired ? taken.fencingToken : 0 });
  const ahead = { ...cron, name: 'ahead', token: randomUUID(), tick: Date.now() + 3_600_000 };
  expect(await store.acquire(ahead)).toMatchObject({ reason: 'clock-skew', storeTime: expect.any(Number) });
  const interval = { name: 'interval', holder: 'host', ttl: 60_000, job: 'other', interval: 60_000 };
  const turn = { ...interval, token: randomUUID() };
  const first = await store.acquire(turn);
  if (!first.acquired) throw new Error(first.reason);
  await store.release({ ...turn, fencingToken: first.fencingToken });
  expect(await again.acquire({ ...interval, token: randomUUID() })).toMatchObject({
    reason: 'already-ran',
    expiresIn: expect.any(Number),
  });
  expect(await store.history.entries({ name: 'cron', limit: 10 })).toMatchObject([
    { type: 'run', outcome: 'completed', duration: 7, fencingToken: lease.fencingToken },
  ]);
  const beat = { instance: 'here', startedAt: 0, every: 1, leads: [], next: [], last: [], left: false };
  expect(await store.history.beat({ ...beat, catalogue: 'a', jobs: [] })).toMatchObject({ known: true });
  expect(await store.history.beat({ ...beat, catalogue: 'b' })).toMatchObject({ known: false });
  expect(await store.history.instances()).toMatchObject([{ instance: 'here', seenAt: expect.any(Number) }]);
  expect(
    await store.history.miss({
      name: 'cron',
      job: 'job',
      instance: 'here',
      reason: 'held',
      count: 1,
      kept,
      tick: tick + 60_000,
    }),
  ).toMatchObject({ missed: true });
  await calls(store, again);
  await line(store, again);
}

/** Queued calls. */
async function calls(store: SqlStore, again: SqlStore): Promise<void> {
  const queuedCall = { name: 'kept', job: 'job', args: '[1]', priority: 0, max: 10, redeliver: 1 };
  const id = randomUUID();
  expect(await store.queuedCalls.enqueue({ ...queuedCall, id, key: 'k' })).toMatchObject({
    queued: true,
    merged: 0,
  });
  expect(await again.queuedCalls.enqueue({ ...queuedCall, id: randomUUID(), key: 'k' })).toMatchObject({
    merged: 1,
  });
  expect(await store.queuedCalls.left(['job'])).toMatchObject([{ name: 'kept' }]);
  const request = { name: 'kept', token: randomUUID(), ttl: 60_000, holder: 'host' };
  const grant = await store.acquire(request);
  if (!grant.acquired) throw new Error(grant.reason);
  const lease = { ...request, fencingToken: grant.fencingToken };
  const next = await store.queuedCalls.next(lease, { takes: [{ job: 'job', ttl: 60_000 }] });
  expect(next).toMatchObject({
    held: true,
    queuedCall: { id, args: '[1]', key: 'k', delivery: 1, merged: 1 },
  });
  const fencingToken = 'fencingToken' in next ? Number(next.fencingToken) : 0;
  expect(fencingToken).toBeGreaterThan(lease.fencingToken);
  expect(await store.release({ ...lease, fencingToken, queuedCall: id }, { outcome: 'failed' })).toEqual({
    released: true,
  });
  expect(await store.inspect(['kept'])).toMatchObject([{ dead: [{ id, reason: 'failed', deliveries: 1 }] }]);
  expect(await store.queuedCalls.redeliver('kept')).toBe(1);
}

/** A call that waits. */
async function line(store: SqlStore, again: SqlStore): Promise<void> {
  const request = { name: 'line', ttl: 60_000, holder: 'host' };
  const [first, second] = [
    { ...request, token: randomUUID() },
    { ...request, token: randomUUID() },
  ];
  const grant = await store.acquire(first);
  if (!grant.acquired) throw new Error(grant.reason);
  const wait = { process: randomUUID(), limit: 60_000, priority: 0 };
  const refused = await again.acquire({ ...second, wait });
  expect(refused).toMatchObject({ acquired: false, reason: 'held', waiting: { place: expect.any(Number) } });
  const place = refused.acquired ? 0 : (refused.waiting?.place ?? 0);
  await store.release({ ...first, fencingToken: grant.fencingToken });
  expect(await again.acquire({ ...second, wait: { ...wait, place } })).toMatchObject({ acquired: true });
}

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await database.provide();
  }, 60_000);
  afterAll(() => server?.stop());

  const cleaned = async (table: string, query: (text: string) => Promise<unknown>): Promise<void> => {
    for (const each of ['', '_entries']) await query(`DROP TABLE IF EXISTS ${table}${each}`);
  };

  if (postgres) {
    test.each(PARSERS)(
      'a pool whose parsers make %s of values reads all that a store needs',
      async (_what, config) => {
        const pools = [testPool(server.url, config), testPool(server.url)] as const;
        const table = uniqueTable('parsed');
        const [store, again] = pools.map((pool) => new PostgresLockStore(pool, { table })) as [
          SqlStore,
          SqlStore,
        ];
        await everything(store, again);
        await cleaned(table, (text) => pools[1].query(text));
        for (const pool of pools) await pool.end();
      },
    );

    test.each(PARSERS.filter(([what]) => what !== 'objects'))(
      'so does another client that makes %s of them',
      async (_what, config) => {
        const pool = testPool(server.url, config);
        const query = (text: string, values: unknown[]) => pool.query(text, values);
        const table = uniqueTable('parsed');
        const [store, again] = [0, 1].map(() => new PostgresLockStore({ query }, { table })) as [
          SqlStore,
          SqlStore,
        ];
        await everything(store, again);
        await cleaned(table, (text) => pool.query(text));
        await pool.end();
      },
    );
    return;
  }

  test.each(MYSQL)('a pool with %s reads all that a store needs', async (_what, options) => {
    const pools = [testMysqlPool(server.url, options), testMysqlPool(server.url)] as const;
    const table = uniqueTable('parsed');
    const [store, again] = pools.map((pool) => new MysqlLockStore(pool, { table })) as [SqlStore, SqlStore];
    await everything(store, again);
    await cleaned(table, (text) => pools[1].query(text));
    for (const pool of pools) await pool.end();
  });
});
