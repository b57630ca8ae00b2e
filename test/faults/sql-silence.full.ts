import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setImmediate as immediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createPool } from 'mysql2';
import type { Duration, LockStore } from '../../lib/index.js';
import type { AcquireRequest } from '../../lib/contract/lock-store.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { MYSQL, POSTGRES, type TestDatabase } from '../support/database.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { testMysqlPool } from '../support/mysql-server.js';
import { testPool } from '../support/postgres-server.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const table = uniqueTable('silence');
/** Of a statement, ms. */
const LIMIT = 300;

const attempt = (): AcquireRequest => ({
  name: randomUUID(),
  token: randomUUID(),
  ttl: 60_000,
  holder: 'host',
});

/** A store with a pool of one connection: were a silent one left in it, nobody would get through. */
interface Opened {
  readonly store: LockStore & { init(): Promise<void> };
  end(): Promise<unknown>;
}

const OPEN: readonly [what: string, database: TestDatabase, open: (url: string) => Opened][] = [
  [
    'of mysql2/promise',
    MYSQL,
    (url) => {
      const pool = testMysqlPool(url, { connectionLimit: 1 });
      return { store: new MysqlLockStore(pool, { table, queryTimeout: LIMIT }), end: () => pool.end() };
    },
  ],
  [
    'of mysql2',
    MYSQL,
    (url) => {
      const pool = createPool({ uri: url, connectionLimit: 1 });
      const end = (): Promise<void> => pool.promise().end();
      return { store: new MysqlLockStore(pool, { table, queryTimeout: LIMIT }), end };
    },
  ],
  [
    'of pg, with a query_timeout as the README has it,',
    POSTGRES,
    (url) => {
      const pool = testPool(url, { max: 1, query_timeout: LIMIT });
      return { store: new PostgresLockStore(pool, { table }), end: () => pool.end() };
    },
  ],
];

describe.each([MYSQL, POSTGRES].map((database) => [database.name, database] as const))(
  'with %s',
  (_name, database) => {
    let server: DatabaseServer;
    let proxy: TcpProxy;
    let url: string;

    beforeAll(async () => {
      server = await database.provide();
      const { hostname, port } = new URL(server.url);
      proxy = await startProxy({ host: hostname, port: Number(port), protocol: 'raw' });
      const proxied = new URL(server.url);
      proxied.port = String(proxy.port);
      url = proxied.href;
    });

    afterAll(async () => {
      const pool = database.pool(server.url);
      await pool.write(`DROP TABLE IF EXISTS ${table}`);
      await pool.end();
      await proxy?.stop();
      await server?.stop();
    });

    test.each(OPEN.filter(([, of]) => of === database))(
      'a connection of a pool %s that nobody answers on any more is given up, and the next call gets another one',
      async (_what, _database, open) => {
        const { store, end } = open(url);
        await until(() => store.init().then(() => true));
        for (let round = 0; round < 3; round++) {
          // Who had a lock last begins with the write, of which nobody knows whether it was carried out.
          const last = attempt();
          const result = await store.acquire(last);
          const fencingToken = result.acquired ? result.fencingToken : 0;
          expect(await store.release({ ...last, fencingToken })).toEqual({ released: true });
          proxy.swallowRequests(1);
          const silent = store.acquire({ ...attempt(), name: last.name });
          // Attempts of one turn go together.
          await immediate();
          const behind = store.acquire(attempt()).catch((error: unknown) => error);
          await expect(silent).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' });
          await behind;
          const acquired = (): Promise<boolean> =>
            store.acquire(attempt()).then(
              (result) => result.acquired,
              () => false,
            );
          await until(acquired, { message: 'a call to get through' });
          await until(() => proxy.connections <= 1, { message: 'the silent connection to be closed' });
        }
        await end();
      },
    );
  },
);

/** A proxy in a thread of its own, which goes on while this one is blocked. Notes how many requests have come, and which one is answered. */
const WAY = `
const { connect, createServer } = require('node:net');
const { parentPort, workerData: { host, port, counts } } = require('node:worker_threads');
const server = createServer((near) => {
  const far = connect(port, host);
  for (const [one, other] of [[near, far], [far, near]]) one.on('error', () => {}).on('close', () => other.destroy());
  near.on('data', (chunk) => { Atomics.add(counts, 0, 1); far.write(chunk); });
  far.on('data', (chunk) => {
    const request = Atomics.load(counts, 0);
    near.write(chunk, () => { Atomics.store(counts, 1, request); Atomics.notify(counts, 1); });
  });
}).listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

async function startWayOfItsOwn(url: string) {
  const { hostname: host, port } = new URL(url);
  const counts = new Int32Array(new SharedArrayBuffer(8));
  const thread = new Worker(WAY, { eval: true, workerData: { host, port: Number(port), counts } });
  const own = await new Promise<number>((resolve, reject) =>
    thread.on('message', resolve).on('error', reject),
  );
  const near = new URL(url);
  near.hostname = '127.0.0.1';
  near.port = String(own);
  return {
    url: near.href,
    /** To be called before a request is sent. Returns what blocks the event loop until its answer is in our socket. */
    blocker: () => {
      const request = Atomics.load(counts, 0) + 1;
      return (): void => {
        for (let seen = Atomics.load(counts, 1); seen < request; seen = Atomics.load(counts, 1)) {
          if (Atomics.wait(counts, 1, seen, 30_000) === 'timed-out') throw new Error('no answer in 30 s');
        }
      };
    },
    stop: () => thread.terminate(),
  };
}

describe('a pool of mysql2', () => {
  let server: DatabaseServer;

  beforeAll(async () => {
    server = await MYSQL.provide();
  });

  afterAll(async () => {
    const pool = testMysqlPool(server.url);
    await pool.query(`DROP TABLE IF EXISTS ${table}`);
    await pool.end();
    await server?.stop();
  });

  test('that has no connection in time has certainly not carried out the call', async () => {
    const pool = testMysqlPool(server.url, { connectionLimit: 1 });
    const store = new MysqlLockStore(pool, { table, queryTimeout: LIMIT });
    await until(() => store.init().then(() => true));
    const connection = await pool.getConnection();
    await expect(store.acquire(attempt())).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
      message: expect.stringContaining('no connection within 300 ms'),
    });
    connection.release();
    // The place in the queue that the call had left behind is passed on.
    await until(() => store.acquire(attempt()).then(({ acquired }) => acquired));
    await pool.end();
  });

  test('that has answered while the event loop was blocked is heard, and keeps its connection', async () => {
    const way = await startWayOfItsOwn(server.url);
    const pool = testMysqlPool(way.url, { connectionLimit: 1 });
    const store = new MysqlLockStore(pool, { table, queryTimeout: LIMIT });
    await until(() => store.init().then(() => true));
    const id = async (): Promise<unknown> => (await pool.query('SELECT CONNECTION_ID()'))[0];
    const before = await id();
    for (let round = 0; round < 3; round++) {
      const blockUntilAnswered = way.blocker();
      const result = store.acquire(attempt());
      // The statement is sent.
      await immediate();
      blockUntilAnswered();
      // And its time is over.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LIMIT + 50);
      expect(await result).toMatchObject({ acquired: true });
    }
    expect(await id()).toEqual(before);
    await pool.end();
    await way.stop();
  });

  test('that answers rows as arrays is read all the same', async () => {
    const pool = testMysqlPool(server.url, { rowsAsArray: true });
    const store = new MysqlLockStore(pool, { table });
    await store.init();
    const request = attempt();
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    expect(await store.acquire({ ...request, token: randomUUID() })).toMatchObject({
      reason: 'held',
      holder: 'host',
    });
    await pool.end();
  });

  test('is given a limit that is a duration, or none at all', () => {
    for (const queryTimeout of [0, -1, Number.NaN, 'soon' as Duration, null as unknown as Duration]) {
      expect(() => new MysqlLockStore({ query: async () => [] }, { queryTimeout })).toThrow(/queryTimeout: /);
    }
  });
});
