import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { SchedulerLockConfigError } from '../../lib/index.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { DATABASES, POSTGRES, type SqlStore, type TestPool, withoutGrants } from '../support/database.js';
import { freePort } from '../support/machine.js';
import { startProxy } from '../faults/proxy/tcp-proxy.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';

const attempt = () => ({ name: 'job', token: randomUUID(), ttl: 60_000, holder: 'host' });

async function works(store: SqlStore): Promise<void> {
  await store.init();
  expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
  expect(await store.acquire(attempt())).toMatchObject({ reason: 'held', holder: 'host' });
}

/** The error that stops a start, which names what to run. */
async function problemOf(store: SqlStore): Promise<string> {
  const error = await store.init().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SchedulerLockConfigError);
  return (error as Error).message;
}

/** The statements that a message says to run. */
const toRun = (message: string): string => message.split(':\n').slice(1).join(':\n').trim();

describe.each(DATABASES.map((database) => [database.name, database] as const))('on %s', (name, database) => {
  const postgres = name === 'PostgreSQL';
  const quote = postgres ? '"' : '`';
  let server: DatabaseServer;
  let pool: TestPool;
  const tables = new Set<string>();
  const newTable = (): string => {
    const table = uniqueTable('tables');
    tables.add(table);
    return table;
  };
  const run = async (statements: string): Promise<void> => {
    for (const statement of withoutGrants(statements)) await pool.write(statement);
  };

  beforeAll(async () => {
    server = await database.provide();
    pool = database.pool(server.url, { max: 20 });
  }, 60_000);

  afterAll(async () => {
    for (const table of tables) await pool.write(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server?.stop();
  });

  test('ten instances that start at once make one table', async () => {
    const table = newTable();
    const stores = Array.from({ length: 10 }, () => pool.store({ table }));
    await Promise.all(stores.map((store) => store.init()));
    const results = await Promise.all(stores.map((store) => store.acquire(attempt())));
    expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
  });

  test('ten instances that start at once add to one table of ShedLock what it lacks', async () => {
    const table = newTable();
    await run(database.shedlock(table));
    const stores = Array.from({ length: 10 }, () => pool.store({ table }));
    await Promise.all(stores.map((store) => store.migrate()));
    const results = await Promise.all(stores.map((store) => store.acquire(attempt())));
    expect(results.filter(({ acquired }) => acquired)).toHaveLength(1);
  });

  test('migrate() may be called again, and leaves what is there', async () => {
    const store = pool.store({ table: newTable(), migrate: false });
    await store.migrate();
    expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
    await store.migrate();
    expect(await store.acquire(attempt())).toMatchObject({ reason: 'held' });
  });

  test('with migrate: false a missing table stops the start with the SQL to run, which helps', async () => {
    const store = pool.store({ table: newTable(), migrate: false });
    const message = await problemOf(store);
    expect(message).toMatch(/does not exist\. Run this.*CREATE TABLE/s);
    await run(toRun(message));
    await works(store);
  });

  test('with migrate: false missing columns stop the start with the SQL to run, which helps', async () => {
    const table = newTable();
    await run(database.shedlock(table));
    const store = pool.store({ table, migrate: false });
    const message = await problemOf(store);
    expect(message).toMatch(/no column version, state\. Run this.*ALTER TABLE/s);
    await run(toRun(message));
    await works(store);
  });

  test('one column that is missing is added', async () => {
    const table = newTable();
    await run(`${database.shedlock(table)};\nALTER TABLE ${table} ADD COLUMN state TEXT`);
    await works(pool.store({ table }));
  });

  test('a table that is not of ShedLock is left alone', async () => {
    const table = newTable();
    await run(`CREATE TABLE ${table} (name VARCHAR(64) PRIMARY KEY, owner INT)`);
    expect(await problemOf(pool.store({ table }))).toMatch(
      /no column lock_until, locked_at, locked_by: .*another name/,
    );
    expect(await pool.rows(`SELECT * FROM ${table}`)).toEqual([]);
  });

  const [time, zoned] = postgres ? ['TIMESTAMP', 'TIMESTAMPTZ'] : ['TIMESTAMP(3)', 'TIMESTAMP'];
  test.each([
    [
      'has times of another kind',
      `name VARCHAR(64) PRIMARY KEY, lock_until ${zoned} NOT NULL`,
      'VARCHAR(255)',
    ],
    [
      'has a key of two columns',
      `name VARCHAR(64), lock_until ${time} NOT NULL`,
      'VARCHAR(255), PRIMARY KEY (name, locked_by)',
    ],
    [
      'has a key with a column of somebody else',
      `name VARCHAR(64), tenant INT DEFAULT 0 NOT NULL, lock_until ${time} NOT NULL`,
      'VARCHAR(255), PRIMARY KEY (name, tenant)',
    ],
    [
      'has a short column locked_by',
      `name VARCHAR(64) PRIMARY KEY, lock_until ${time} NOT NULL`,
      'VARCHAR(100)',
    ],
    ['has no end for some locks', `name VARCHAR(64) PRIMARY KEY, lock_until ${time} NULL`, 'VARCHAR(255)'],
  ])('a table that %s is neither ours nor of ShedLock, and refused', async (_what, first, by) => {
    const table = newTable();
    await run(`CREATE TABLE ${table} (${first}, locked_at ${time} NOT NULL, locked_by ${by})`);
    expect(await problemOf(pool.store({ table }))).toMatch(/CREATE TABLE/);
  });

  test('names may be words of SQL, of any letters, and have a schema of their own', async () => {
    const schema = `ä-${uniqueTable('schema').slice(-20)}`;
    const table = 'SELECT-Größe_1';
    const quoted = `${quote}${schema}${quote}`;
    await pool.write(`CREATE SCHEMA ${quoted}`);
    try {
      await works(pool.store({ table, schema }));
      await works(pool.store({ schema }));
      expect(await pool.store({ schema }).inspect()).toHaveLength(1);
    } finally {
      await pool.write(`DROP SCHEMA ${quoted} ${postgres ? 'CASCADE' : ''}`);
    }
  });

  test('fencing tokens grow also beyond a clock that was set back, and are never more than a number can be', async () => {
    const table = newTable();
    const store = pool.store({ table });
    await works(store);
    const set = async (token: number): Promise<void> => {
      const [row] = await pool.rows(`SELECT state FROM ${table}`);
      const state = String(row?.['state']).replace(/"fence":\d+/, `"fence":${token}`);
      const version = randomUUID();
      await pool.write(`UPDATE ${table} SET state = ?, version = ?, lock_until = '2000-01-01'`, [
        state,
        version,
      ]);
    };
    await set(4_000_000_000_000_000);
    expect(await store.acquire(attempt())).toEqual({ acquired: true, fencingToken: 4_000_000_000_000_001 });
    await set(Number.MAX_SAFE_INTEGER - 1);
    expect(await store.acquire(attempt())).toEqual({ acquired: true, fencingToken: Number.MAX_SAFE_INTEGER });
    await set(Number.MAX_SAFE_INTEGER);
    await expect(store.acquire(attempt())).rejects.toMatchObject({ code: 'LOCK_STATE', lock: 'job' });
  });

  test('what is no name is refused at once', () => {
    const bad = ['', 'x'.repeat(65), 'a\u0000b', 7 as unknown as string, 'what?', 'a b', 'a;b', `a${quote}b`];
    for (const table of bad) expect(() => pool.store({ table })).toThrow(SchedulerLockConfigError);
    for (const schema of bad) expect(() => pool.store({ schema })).toThrow(/schema: /);
    const Store = postgres ? PostgresLockStore : MysqlLockStore;
    for (const client of [undefined, null, {}, 'postgres://localhost']) {
      expect(() => new Store(client as never)).toThrow(/needs a pool/);
    }
  });

  test('SCHEMA makes the table that the store needs, and can be run again', async () => {
    const schema = uniqueTable('schema');
    await pool.write(`CREATE SCHEMA ${schema}`);
    const there = database.pool(database.at(server.url, schema));
    try {
      for (let i = 0; i < 2; i++) {
        for (const statement of database.schema.split(';\n').filter(Boolean)) await there.write(statement);
      }
      await works(there.store({ migrate: false }));
    } finally {
      await there.end();
      await pool.write(`DROP SCHEMA ${schema} ${postgres ? 'CASCADE' : ''}`);
    }
  });

  test('a database that does not exist stops the start; one that cannot be reached does not', async () => {
    const url = new URL(server.url);
    url.pathname = '/nowhere';
    const nowhere = database.pool(url.href);
    expect(await problemOf(nowhere.store())).toMatch(/refused: .*nowhere/);
    await nowhere.end();
    url.port = String(await freePort());
    const gone = database.pool(url.href);
    const store = gone.store();
    const message = expect.stringMatching(/^The database cannot be reached: .*ECONNREFUSED.*[^.]\.$/);
    const unavailable = { code: 'STORE_UNAVAILABLE', outcome: 'not-applied', message };
    await expect(store.init()).rejects.toMatchObject(unavailable);
    await expect(store.acquire(attempt())).rejects.toMatchObject(unavailable);
    await gone.end();
  });

  test.each([false, true])(
    'a table that is dropped is missed, never made anew by a running instance, and used again when it is back (migrate: %s)',
    async (migrate) => {
      const table = newTable();
      const store = pool.store({ table, migrate });
      await store.migrate();
      await works(store);
      await pool.write(`DROP TABLE ${table}`);
      const unavailable = { code: 'STORE_UNAVAILABLE', outcome: 'not-applied' };
      await expect(store.acquire(attempt())).rejects.toMatchObject(unavailable);
      for (let calls = 0; calls < 3; calls++) {
        await expect(store.acquire(attempt())).rejects.toMatchObject({
          ...unavailable,
          message: expect.stringMatching(/is gone.*holders still run.*CREATE TABLE/s),
        });
      }
      await expect(pool.rows(`SELECT * FROM ${table}`)).rejects.toThrow();
      // An instance that starts may make it.
      await works(pool.store({ table }));
      expect(await store.acquire(attempt())).toMatchObject({ reason: 'held' });
    },
  );

  test('a table that could not be made at the start is made when the database is first reached', async () => {
    const table = newTable();
    const { hostname, port } = new URL(server.url);
    const proxy = await startProxy({ host: hostname, port: Number(port), protocol: 'raw' });
    const url = new URL(server.url);
    url.port = String(proxy.port);
    const through = database.pool(url.href);
    try {
      await proxy.refuse(true);
      const store = through.store({ table });
      await expect(store.init()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await proxy.refuse(false);
      expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
    } finally {
      await through.end();
      await proxy.stop();
    }
  });

  test('an instance may be called anything, whatever characters the column locked_by takes', async () => {
    const table = newTable();
    const latin = postgres ? '' : ' CHARACTER SET latin1';
    await run(`${database.shedlock(table)}${latin}`);
    const store = pool.store({ table });
    await store.init();
    const request = { ...attempt(), holder: 'żółw 🐢 100 %' };
    const result = await store.acquire(request);
    expect(result).toMatchObject({ acquired: true });
    expect(await store.acquire(attempt())).toMatchObject({ reason: 'held', holder: request.holder });
    const lease = { ...request, fencingToken: result.acquired ? result.fencingToken : 0 };
    expect(await store.extend([lease])).toEqual([{ held: true }]);
    expect(await store.release(lease)).toEqual({ released: true });
  });

  test('a name that the column cannot keep spoils no other attempt of its turn', async () => {
    const table = newTable();
    await run(`${database.shedlock(table)}${postgres ? '' : ' CHARACTER SET latin1'}`);
    const store = pool.store({ table });
    await store.init();
    const unkept = postgres ? 'x'.repeat(65) : '日';
    const [before, bad, after] = await Promise.allSettled(
      ['a', unkept, 'b'].map((name) => store.acquire({ ...attempt(), name })),
    );
    for (const good of [before, after])
      expect(good).toMatchObject({ status: 'fulfilled', value: { acquired: true } });
    expect(bad).toMatchObject({ status: 'rejected', reason: expect.any(Error) });
    // The same when the others are refused by the look.
    expect(
      await Promise.allSettled(['a', unkept].map((name) => store.acquire({ ...attempt(), name }))),
    ).toEqual([
      { status: 'fulfilled', value: expect.objectContaining({ acquired: false, reason: 'held' }) },
      {
        status: 'rejected',
        reason: expect.objectContaining({ name: (bad as PromiseRejectedResult).reason.name }),
      },
    ]);
  });
});

test('on PostgreSQL, a user who may not create or write is told so at the start', async () => {
  const server = await POSTGRES.provide();
  const [table, role, schema] = [uniqueTable('denied'), uniqueTable('role'), uniqueTable('schema')];
  const url = POSTGRES.at(server.url, schema);
  const pool = POSTGRES.pool(url);
  // Before PostgreSQL 15, everybody could create tables in the schema `public`.
  await pool.write(`CREATE SCHEMA ${schema}`);
  await pool.write(`CREATE ROLE ${role}`);
  await pool.write(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
  const denied = POSTGRES.pool(url, { session: [`SET ROLE ${role}`] });
  try {
    expect(await problemOf(denied.store({ table }))).toMatch(
      /permission denied for schema.*\n?CREATE TABLE/s,
    );
    await pool.store({ table }).migrate();
    await pool.write(`GRANT SELECT ON ${table} TO ${role}`);
    expect(await problemOf(denied.store({ table }))).toMatch(/GRANT SELECT, INSERT, UPDATE/);
    await pool.write(`GRANT INSERT, UPDATE ON ${table} TO ${role}`);
    await works(denied.store({ table }));
  } finally {
    await denied.end();
    await pool.write(`DROP SCHEMA ${schema} CASCADE`);
    await pool.write(`DROP ROLE ${role}`);
    await pool.end();
    await server.stop();
  }
});
