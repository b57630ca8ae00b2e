import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createPool } from 'mysql2';
import type { AcquireRequest } from '../../lib/index.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { type DatabaseServer, uniqueTable } from '../support/database-server.js';
import { provideMysql, testMysqlPool } from '../support/mysql-server.js';
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { faultSuite } from './support/suite.js';

faultSuite();

let server: DatabaseServer;
let proxy: TcpProxy;
let url: string;
const table = uniqueTable('silence');

const attempt = (): AcquireRequest => ({
  name: randomUUID(),
  token: randomUUID(),
  ttl: 60_000,
  holder: 'host',
});

beforeAll(async () => {
  server = await provideMysql();
  const { hostname, port } = new URL(server.url);
  proxy = await startProxy({ host: hostname, port: Number(port), protocol: 'raw' });
  const proxied = new URL(server.url);
  proxied.port = String(proxy.port);
  url = proxied.href;
});

afterAll(async () => {
  const pool = testMysqlPool(server.url);
  await pool.query(`DROP TABLE IF EXISTS ${table}`);
  await pool.end();
  await proxy?.stop();
  await server?.stop();
});

const POOLS = {
  'of mysql2/promise': () => {
    const pool = testMysqlPool(url, { connectionLimit: 1 });
    return { pool, end: () => pool.end() };
  },
  'of mysql2': () => {
    const pool = createPool({ uri: url, connectionLimit: 1 });
    return { pool, end: () => pool.promise().end() };
  },
};

test.each(Object.entries(POOLS))(
  'a connection of a pool %s that nobody answers on any more is given up, and the next call gets another one',
  async (_what, connect) => {
    const { pool, end } = connect();
    const store = new MysqlLockStore(pool, { table, queryTimeout: 300 });
    await store.init();
    for (let round = 0; round < 3; round++) {
      const before = proxy.connections;
      proxy.swallowRequests(1);
      const silent = store.acquire(attempt());
      const behind = store.acquire(attempt()).catch((error: unknown) => error);
      await expect(silent).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'unknown' });
      await behind;
      // The pool has room for one: were the silent one still in it, nobody would get through.
      await until(
        () =>
          store.acquire(attempt()).then(
            ({ acquired }) => acquired,
            () => false,
          ),
        { message: 'a call to get through' },
      );
      await until(() => proxy.connections === before, { message: 'the silent connection to be closed' });
    }
    await end();
  },
);

test('a call that got no connection in time is certainly not carried out', async () => {
  const pool = testMysqlPool(url, { connectionLimit: 1 });
  const store = new MysqlLockStore(pool, { table, queryTimeout: 300 });
  await store.init();
  const connection = await pool.getConnection();
  await expect(store.acquire(attempt())).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    outcome: 'not-applied',
    message: expect.stringContaining('no connection within 300 ms'),
  });
  connection.release();
  // The place in the queue that the call had left behind is passed on.
  expect(await store.acquire(attempt())).toMatchObject({ acquired: true });
  await pool.end();
});

test('a pool that answers rows as arrays is read all the same', async () => {
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
