import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { createPool, type Pool } from 'mysql2';
import type { AcquireResult } from '../../lib/contract/lock-store.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import type { LocalDatabase } from '../support/database-server.js';
import { startMariadb } from '../support/mysql-server.js';
import { until } from '../support/until.js';
import { faultSuite } from './support/suite.js';

faultSuite();

/** Of a statement, ms. */
const LIMIT = 1_000;
const CONNECTIONS = 3;

let server: LocalDatabase;
let pool: Pool;
let store: MysqlLockStore;
let sockets: Socket[];

beforeAll(async () => {
  server = await startMariadb();
});

beforeEach(async () => {
  sockets = [];
  // A connection that is being opened is given up by mysql2 itself.
  pool = createPool({ uri: server.url, connectionLimit: CONNECTIONS, connectTimeout: 1_000 });
  pool.on('connection', (connection) => {
    sockets.push((connection as unknown as { stream: Socket }).stream);
  });
  store = new MysqlLockStore(pool, { table: 'ended', queryTimeout: LIMIT });
  await until(() => store.init().then(() => true));
  // All connections are open; those on which the table was made may have been closed.
  await until(async () => {
    await attempts();
    sockets = sockets.filter(({ destroyed }) => !destroyed);
    return sockets.length === CONNECTIONS;
  });
});

afterEach(() => server.resume());

afterAll(() => server?.stop());

/** A statement on each connection: each attempt in a turn of its own, as those of one turn go together. */
function attempts(): Promise<AcquireResult[]> {
  const attempt = async (_: unknown, i: number) => {
    for (let turn = 0; turn < i; turn++) await immediate();
    return store.acquire({ name: randomUUID(), token: randomUUID(), ttl: 60_000, holder: 'host' });
  };
  return Promise.all(Array.from({ length: CONNECTIONS }, attempt));
}

/** What becomes of the end of the pool: an error, or that there was none. */
function ending(): { of: Promise<unknown>; settled(): Promise<unknown> } {
  let isSettled = false;
  const of = new Promise((resolve) => pool.end((error) => resolve(error ?? 'ended'))).finally(() => {
    isSettled = true;
  });
  return { of, settled: () => until(() => isSettled, { message: 'the pool to have ended' }) };
}

const allClosed = (): Promise<unknown> =>
  until(() => sockets.every((socket) => socket.closed), { message: 'the connections to be closed' });

test('a pool that is being ended when its statements are given up says so, and its connections are closed', async () => {
  server.pause();
  const before = sockets.map(({ bytesWritten }) => bytesWritten);
  const silent = attempts().catch((error: unknown) => error);
  const isSent = ({ bytesWritten }: Socket, i: number): boolean => bytesWritten > (before[i] ?? 0);
  await until(() => sockets.every(isSent), { interval: 0, message: 'the statements to be sent' });
  const end = ending();
  // The first statement for a new name is a look.
  expect(await silent).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' });
  await end.settled();
  expect(String(await end.of)).toMatch(/no answer within 1000 ms/);
  await allClosed();
});

test('a pool that is ended after its statements were given up ends, and its connections are closed', async () => {
  server.pause();
  await expect(attempts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  // The server has not heard of it: it is still frozen.
  await allClosed();
  await ending().settled();
});

test('a pool goes on after its statements were given up, and ends as usual', async () => {
  server.pause();
  await expect(attempts()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  await allClosed();
  server.resume();
  await until(() => attempts().then((results) => results.every(({ acquired }) => acquired)));
  const end = ending();
  await end.settled();
  expect(await end.of).toBe('ended');
});
