import { expect, jest, test } from '@jest/globals';
import { type CallbackConnection, LimitedPool } from '../../../../lib/stores/mysql/limited-pool.js';
import { MysqlDialect } from '../../../../lib/stores/mysql/mysql-dialect.js';
import { PostgresDialect } from '../../../../lib/stores/postgres/postgres-dialect.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

type Callback = (error: Error | null, result?: unknown) => void;

test('PostgreSQL limits the wait for locks within the one statement, whatever the table is called', async () => {
  const query = jest.fn(async (_text: string, _values: unknown[]) => []);
  await new PostgresDialect({ query }, {}).migrate('ALTER TABLE a$migration$b$mmigration$c');
  expect(query.mock.calls).toEqual([
    [
      "DO $mmmigration$ BEGIN PERFORM set_config('lock_timeout', '2s', true); ALTER TABLE a$migration$b$mmigration$c; END $mmmigration$",
      [],
    ],
  ]);
});

test('a pool of pg is told when to give a statement up, and nobody else is given an object', async () => {
  const query = jest.fn(async (_statement: unknown) => []);
  const pool = { query, connect: () => undefined, totalCount: 0 };
  await new PostgresDialect(pool, {}).migrate('ALTER TABLE t');
  expect(query.mock.calls).toEqual([
    [{ text: expect.stringContaining('ALTER TABLE t;'), values: [], query_timeout: 60_000 }],
  ]);
});

test('MariaDB limits the wait for locks within the one statement, in what is a comment to MySQL', async () => {
  const query = jest.fn(async (_text: string, _values: unknown[]) => []);
  await new MysqlDialect({ query }, {}).migrate('ALTER TABLE t');
  expect(query.mock.calls).toEqual([['/*M! SET STATEMENT lock_wait_timeout = 2 FOR */ ALTER TABLE t', []]]);
});

/** A pool of mysql2 with a connection that keeps what it is asked until a test answers. */
function scripted(refused: Error | null = null) {
  const clock = new ManualClock();
  const sent: string[] = [];
  const answers: Callback[] = [];
  const destroyed = jest.fn();
  const connection = {
    query: (options: object, callback: Callback) => {
      sent.push((options as { sql: string }).sql);
      answers.push(callback);
    },
    release: () => void sent.push('release'),
    destroy: () => void sent.push('destroy'),
    stream: { destroy: destroyed },
  };
  let give!: () => void;
  const pool = {
    getConnection: (use: (error: Error | null, connection: CallbackConnection) => void) => {
      give = () => use(refused, connection);
    },
  };
  const result = new LimitedPool(pool, 1_000, clock).queryWithLockTimeout('ALTER TABLE t');
  return {
    clock,
    sent,
    destroyed,
    result,
    give,
    answer: (...of: Parameters<Callback>) => answers.shift()?.(...of),
  };
}

const SET = 'SET SESSION lock_wait_timeout = 2';

test('with a pool of mysql2 it is limited on a connection that nobody gets after that', async () => {
  const { clock, sent, result, give, answer } = scripted();
  give();
  answer(null);
  expect(sent).toEqual([SET, 'ALTER TABLE t']);
  answer(null, 'done');
  expect(await result).toBe('done');
  expect([sent, clock.pending]).toEqual([[SET, 'ALTER TABLE t', 'destroy'], 0]);
});

test.each([0, 1])('an error ends it, and its connection (%i)', async (answered) => {
  const { clock, sent, result, give, answer } = scripted();
  const failed = expect(result).rejects.toThrow('no');
  give();
  if (answered > 0) answer(null);
  answer(new Error('no'));
  await failed;
  expect([sent.length, sent.at(-1), clock.pending]).toEqual([answered + 2, 'destroy', 0]);
});

test('a connection that is not to be had is told, and one that comes too late is given back', async () => {
  const { result, give } = scripted(new Error('Pool is closed.'));
  give();
  await expect(result).rejects.toThrow('closed');
  const late = scripted();
  const failed = expect(late.result).rejects.toMatchObject({ syscall: 'connect' });
  await late.clock.advance(60_000);
  await failed;
  late.give();
  expect(late.sent).toEqual(['release']);
});

test('a connection that does not answer is closed, its socket, too', async () => {
  const { clock, sent, destroyed, result, give, answer } = scripted();
  const failed = expect(result).rejects.toThrow('no answer within 60000 ms');
  give();
  answer(null);
  await clock.advance(59_999);
  expect(sent).not.toContain('destroy');
  await clock.advance(1);
  await failed;
  answer(null);
  expect(sent).toEqual([SET, 'ALTER TABLE t', 'destroy']);
  expect(destroyed).toHaveBeenCalledTimes(1);
});
