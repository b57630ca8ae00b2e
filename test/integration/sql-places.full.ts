import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { SchedulerLockConfigError } from '../../lib/index.js';
import { queuedCall } from '../contract/cases/queued-call-moves.js';
import { DATABASES, type SqlStore, type TestPool } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

/*
 * A pool that the code of tenants shares: it leaves its connections where the tenant's tables are.
 */

const attempt = (name = 'job') => ({ name, token: randomUUID(), ttl: 60_000, holder: 'host' });
const KEPT = { count: 10, age: 60_000 };

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  let server: DatabaseServer;
  let admin: TestPool;
  let pools: TestPool[];
  let schemas: string[];

  const newSchema = async (): Promise<string> => {
    const schema = uniqueTable('place');
    schemas.push(schema);
    await admin.write(`CREATE SCHEMA ${schema}`);
    return schema;
  };
  /** A pool whose connections look in a schema, unless somebody leaves them elsewhere. */
  const poolOf = (schema: string, max = 1): TestPool => {
    const pool = database.pool(database.at(server.url, schema), { max });
    pools.push(pool);
    return pool;
  };
  /** What the code of a tenant leaves behind on a connection. */
  const leave = (pool: TestPool, schema: string): Promise<unknown> =>
    pool.rows(postgres ? `SET search_path = ${schema}` : `USE ${schema}`);
  const rowsIn = async (schema: string, table: string): Promise<number> =>
    (await admin.rows(`SELECT name FROM ${schema}.${table}`)).length;

  beforeAll(async () => {
    server = await database.provide();
    admin = database.pool(server.url);
  }, 60_000);
  beforeEach(() => {
    [pools, schemas] = [[], []];
  });
  afterEach(async () => {
    for (const pool of pools) await pool.end();
    for (const schema of schemas) await admin.write(`DROP SCHEMA ${schema} ${postgres ? 'CASCADE' : ''}`);
  });
  afterAll(async () => {
    await admin?.end();
    await server?.stop();
  });

  /** An instance whose one connection a tenant's code has used after the start. */
  async function instance(home: string, tenant: string, table: string): Promise<SqlStore> {
    const pool = poolOf(home);
    const store = pool.store({ table });
    await store.init();
    await leave(pool, tenant);
    return store;
  }

  test.each([true, false])(
    'a lock is one lock, wherever the code of a tenant leaves a connection (the tenant has such a table: %s)',
    async (has) => {
      const [home, tenant, other] = [await newSchema(), await newSchema(), await newSchema()];
      const table = uniqueTable('lock');
      if (has) await poolOf(tenant).store({ table }).init();
      const stores = [await instance(home, tenant, table), await instance(home, other, table)];
      const results = await Promise.all(stores.map((store) => store.acquire(attempt())));
      expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
      expect(await rowsIn(home, table)).toBe(1);
      if (has) expect(await rowsIn(tenant, table)).toBe(0);
    },
  );

  test('leases, queued calls, runs and instances are all in one place', async () => {
    const [home, tenant] = [await newSchema(), await newSchema()];
    const table = uniqueTable('all');
    const store = await instance(home, tenant, table);
    expect(await store.history.init()).toBeUndefined();
    const request = { ...attempt(), job: 'job', history: true };
    const grant = await store.acquire(request);
    if (!grant.acquired) throw new Error(grant.reason);
    const lease = { ...request, fencingToken: grant.fencingToken };
    expect(await store.extend([lease])).toEqual([{ held: true }]);
    expect(await store.queuedCalls.enqueue(queuedCall('job'))).toMatchObject({ queued: true });
    expect(await store.release(lease, { record: { kept: KEPT, duration: 1 } })).toEqual({ released: true });
    await store.history.beat({
      instance: 'here',
      startedAt: 0,
      every: 1,
      leads: [],
      catalogue: 'a',
      jobs: [],
      left: false,
    });
    expect(await store.history.entries({ name: 'job', limit: 10 })).toHaveLength(1);
    expect(await store.history.instances()).toMatchObject([{ instance: 'here' }]);
    expect(await store.inspect()).toMatchObject([{ name: 'job', queued: 1 }]);
    for (const suffix of ['', '_entries']) expect(await rowsIn(home, `${table}${suffix}`)).toBeGreaterThan(0);
    await store.close();
    const inTenant = await admin.rows(
      'SELECT table_name FROM information_schema.tables WHERE table_schema = ?',
      [tenant],
    );
    expect(inTenant).toEqual([]);
  });

  test('a first look over a connection that was left elsewhere stops the start, and names the option', async () => {
    const [home, tenant] = [await newSchema(), await newSchema()];
    const table = uniqueTable('first');
    const pool = poolOf(home);
    await leave(pool, tenant);
    const error = await pool
      .store({ table })
      .init()
      .catch((reason: unknown) => reason as Error);
    expect(error).toBeInstanceOf(SchedulerLockConfigError);
    expect((error as Error).message).toMatch(new RegExp(`${tenant}.*${home}.*\`?schema`, 's'));
    // The option decides.
    const store = pool.store({ table, schema: home });
    await store.init();
    expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
    expect(await rowsIn(home, table)).toBe(1);
  });

  test('a table that is moved while instances run is an outage whose error says so, and used again when it is back', async () => {
    const [home, other] = [await newSchema(), await newSchema()];
    const table = uniqueTable('moved');
    const store = poolOf(home).store({ table });
    await store.init();
    expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
    const move = (from: string, to: string): Promise<unknown> =>
      admin.write(
        postgres
          ? `ALTER TABLE ${from}.${table} SET SCHEMA ${to}`
          : `RENAME TABLE ${from}.${table} TO ${to}.${table}`,
      );
    await move(home, other);
    await expect(store.acquire(attempt('another'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(new RegExp(`${home}.*${table}.* is gone.*moved or renamed`, 's')),
    });
    await move(other, home);
    expect(await store.acquire(attempt())).toMatchObject({ reason: 'held' });
  });

  test.each(['app.shedlock', `"shedlock"`, '`shedlock`', '[shedlock]', '"app"."shedlock"'])(
    'a table %s would be one of that very name, so it is refused at once, as is such a schema',
    async (table) => {
      const pool = poolOf(await newSchema());
      expect(() => pool.store({ table })).toThrow(SchedulerLockConfigError);
      expect(() => pool.store({ table })).toThrow(/store: table: .*without quotes and dots.*: schema\./);
      expect(() => pool.store({ schema: table })).toThrow(/store: schema: /);
    },
  );

  if (!postgres) return;

  test('a temporary table of that name hides the table from nobody', async () => {
    const home = await newSchema();
    const table = uniqueTable('temp');
    const store = poolOf(home).store({ table });
    await store.init();
    const pool = poolOf(home);
    await pool.write(`CREATE TEMPORARY TABLE ${table} (LIKE ${home}.${table} INCLUDING ALL)`);
    const shadowed = pool.store({ table });
    await shadowed.init();
    expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
    expect(await shadowed.acquire(attempt())).toMatchObject({ reason: 'held' });
  });

  test('a search path that leads to the same table is as good as the usual one', async () => {
    const [home, tenant] = [await newSchema(), await newSchema()];
    const table = uniqueTable('same');
    await poolOf(home).store({ table }).init();
    const pool = poolOf(home);
    await leave(pool, `${tenant}, ${home}`);
    const store = pool.store({ table });
    await store.init();
    expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
    expect(await rowsIn(home, table)).toBe(1);
  });
});
