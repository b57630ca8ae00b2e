import { describe, expect, jest, test } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Pool } from 'pg';
import { Gate } from '../../../../lib/stores/sql/gate.js';
import { type CallbackConnection, PoolConnections } from '../../../../lib/stores/mysql/pool.js';
import { PoolConnections as PostgresConnections } from '../../../../lib/stores/postgres/pool.js';
import { MysqlDialect } from '../../../../lib/stores/mysql/mysql-dialect.js';
import { PostgresDialect } from '../../../../lib/stores/postgres/postgres-dialect.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

type Callback = (error: Error | null, result: unknown) => void;

/** A pool of mysql2 whose connections keep what they are asked until a test answers. */
function opened({ has = true, idle = 0 }: { has?: boolean; idle?: number | null } = {}) {
  const clock = new ManualClock();
  const fate: string[] = [];
  const answers: Callback[] = [];
  const connection: CallbackConnection = {
    query: (_options, callback) => answers.push(callback),
    release: () => fate.push('released'),
    destroy: () => fate.push('destroyed'),
    stream: { destroy: () => fate.push('its socket') },
  };
  let give: () => void = () => undefined;
  const pool = {
    getConnection: (use: (error: null, connection: CallbackConnection) => void) => {
      give = () => use(null, connection);
      if (has) give();
    },
    ...(idle !== null && { _freeConnections: { length: idle } }),
  };
  const gate = new Gate(new PoolConnections(pool, 1_000), 1_000, clock);
  return { clock, fate, answers, gate, give: () => give() };
}

/** What is to happen by itself has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test.each([
  ['a statement that is answered', null, ['released']],
  ['one that the server refuses', Object.assign(new Error('Duplicate entry'), { errno: 1062 }), ['released']],
  ['one that breaks the connection', Object.assign(new Error('ECONNRESET'), { fatal: true }), ['destroyed']],
  [
    'one that a server refuses which only reads',
    Object.assign(new Error('no'), { errno: 1290 }),
    ['destroyed'],
  ],
])('after %s, the connection is left as the next user needs it', async (_what, error, left) => {
  const { gate, fate, answers } = opened();
  const sent = gate.send('SELECT 1', []).catch(() => undefined);
  await settled();
  answers[0]?.(error, 'rows');
  await sent;
  expect(fate).toEqual(left);
});

test('what a server still says on a connection of pg that was thrown away ends no process', async () => {
  const client = Object.assign(new EventEmitter(), {
    query: () => Promise.reject(new Error('terminating connection')),
    release: () => undefined,
  });
  const gate = new Gate(new PostgresConnections({ idleCount: 0, connect: async () => client }), 1_000);
  await expect(gate.send('SELECT 1', [])).rejects.toThrow('terminating connection');
  // As pg does it, when no query is left to hear of it.
  expect(() => client.emit('error', new Error('terminating connection, once more'))).not.toThrow();
});

/** A message of PostgreSQL's protocol. */
function message(type: string, ...parts: (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const head = Buffer.from([...Buffer.from(type), 0, 0, 0, 0]);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

test('a server of PostgreSQL that stops in the moment in which it has let a connection in ends no process', async () => {
  const fatal = ['SFATAL', 'C57P01', 'Mterminating connection due to administrator command'];
  const said = Buffer.concat([
    message('R', [0, 0, 0, 0]),
    message('Z', 'I'),
    // In the same packet as the welcome, so nothing else of the process runs between them.
    message('E', ...fatal.map((field) => `${field}\0`), '\0'),
  ]);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(said));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pool = new Pool({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, user: 'app' });
  pool.on('error', () => undefined);
  const gate = new Gate(new PostgresConnections(pool), 1_000);
  await expect(gate.send('SELECT 1', [])).rejects.toThrow('not queryable');
  await pool.end();
  server.close();
});

test('a connection that has not answered within the limit is closed, its socket, too', async () => {
  const { clock, gate, fate } = opened();
  const given = expect(gate.send('SELECT 1', [])).rejects.toThrow('no answer within 1000 ms');
  await settled();
  await clock.advance(1_000);
  await given;
  expect(fate).toEqual(['destroyed', 'its socket']);
});

test('a statement that got no connection was not sent, and one that comes too late is given back', async () => {
  const { clock, gate, fate, answers, give } = opened({ has: false });
  const given = expect(gate.send('SELECT 1', [])).rejects.toMatchObject({ syscall: 'connect' });
  await clock.advance(1_000);
  await given;
  give();
  await settled();
  expect([fate, answers]).toEqual([['released'], []]);
});

test('an answer that came while the event loop was blocked is read', async () => {
  const { clock, gate, fate, answers } = opened();
  const sent = gate.send('SELECT 1', []);
  await settled();
  // As the event loop does it: the timer first, the socket next.
  clock.block(5_000);
  const advanced = clock.advance(0);
  answers[0]?.(null, 'rows');
  await advanced;
  expect(await sent).toBe('rows');
  expect([fate, clock.pending]).toEqual([['released'], 0]);
});

test('at most twenty statements are under way; others wait for two seconds, and are certainly not carried out', async () => {
  const { clock, gate, answers } = opened();
  const slow = Array.from({ length: 20 }, () => gate.run(({ query }) => query('SELECT 1', []), 60_000));
  const next = gate.run(({ query }) => query('SELECT 2', []), 60_000);
  const late = gate.send('SELECT 3', []);
  const refused = expect(late).rejects.toMatchObject({ syscall: 'connect' });
  await settled();
  expect(answers).toHaveLength(20);
  answers[0]?.(null, 'rows');
  expect(await slow[0]).toBe('rows');
  await settled();
  expect(answers).toHaveLength(21);
  await clock.advance(2_000);
  await refused;
  for (const answer of answers.slice(1)) answer(null, 'rows');
  await Promise.all(slow);
  expect(await next).toBe('rows');
  const again = gate.send('SELECT 4', []);
  await settled();
  answers.at(-1)?.(null, 'again');
  expect(await again).toBe('again');
});

describe('after a silence', () => {
  test('statements that have waited as long are given up, and idle connections are closed', async () => {
    const { clock, gate, fate } = opened({ idle: 2 });
    const given = expect(gate.send('SELECT 1', [])).rejects.toThrow('no answer within 600 ms');
    await settled();
    await clock.advance(600);
    gate.reconnect(700);
    await given;
    await settled();
    expect(fate.filter((each) => each === 'destroyed')).toHaveLength(3);
    expect(fate).not.toContain('released');
  });

  test.each([0, null])(
    'a pool without idle connections, or one that tells of none, keeps all (%s)',
    async (idle) => {
      const { gate, fate } = opened({ idle });
      gate.reconnect(undefined);
      await settled();
      expect(fate).toEqual([]);
    },
  );

  test('a statement that was just sent goes on', async () => {
    const { gate, answers } = opened();
    const sent = gate.send('SELECT 1', []);
    await settled();
    gate.reconnect(700);
    answers[0]?.(null, 'rows');
    expect(await sent).toBe('rows');
  });
});

test.each([
  ['is asked for a connection, which can be closed', {}, 'connection'],
  ['whose query() was replaced is called, as whatever replaced it must see all', { query: true }, 'client'],
  [
    'that does not tell its idle connections is none of pg, and is called',
    { idleCount: undefined },
    'client',
  ],
])(
  'a pool %s',
  async (_what, { query: isReplaced = false, ...fields }: object & { query?: boolean }, asked) => {
    const sent: string[] = [];
    class Pool {
      idleCount = 0;
      connect = async () => ({
        query: async () => (sent.push('connection'), { rows: [] }),
        on: () => undefined,
        off: () => undefined,
        release: () => undefined,
      });
      async query() {
        sent.push('client');
        return { rows: [] };
      }
    }
    const pool = Object.assign(new Pool(), fields);
    if (isReplaced) pool.query = Pool.prototype.query.bind(pool);
    await new PostgresDialect(pool, {}).migrate('ALTER TABLE t');
    expect(sent).toEqual([asked]);
  },
);

test('a migration on PostgreSQL limits the wait for locks in the one statement', async () => {
  const query = jest.fn(async (_text: string, _values: unknown[]) => []);
  await new PostgresDialect({ query }, {}).migrate('ALTER TABLE t');
  expect(query.mock.calls).toEqual([
    [
      "DO $migration$ BEGIN PERFORM set_config('lock_timeout', '2s', true); ALTER TABLE t; END $migration$",
      [],
    ],
  ]);
});

test('one on MariaDB does so in what is a comment to MySQL', async () => {
  const query = jest.fn(async (_text: string, _values: unknown[]) => []);
  await new MysqlDialect({ query }, {}, 1_000).migrate('ALTER TABLE t');
  expect(query.mock.calls).toEqual([['/*M! SET STATEMENT lock_wait_timeout = 2 FOR */ ALTER TABLE t', []]]);
});

test('one through a pool of mysql2 does so for its connection, which the next user finds as it was', async () => {
  const sent: unknown[] = [];
  const connection: CallbackConnection = {
    query: (options, callback) => {
      const { sql } = options as { sql: string };
      sent.push(sql);
      if (sql.startsWith('ALTER')) callback(new Error('no'), undefined);
      else callback(null, []);
    },
    release: () => sent.push('released'),
    destroy: () => sent.push('destroyed'),
  };
  const pool = {
    promise: () => undefined,
    getConnection: (use: (error: null, connection: CallbackConnection) => void) => use(null, connection),
  };
  await expect(new MysqlDialect(pool, {}, 1_000).migrate('ALTER TABLE t')).rejects.toThrow('no');
  expect(sent).toEqual([
    'SET @waits = @@lock_wait_timeout, lock_wait_timeout = 2',
    'ALTER TABLE t',
    'SET lock_wait_timeout = @waits',
    'released',
  ]);
});
