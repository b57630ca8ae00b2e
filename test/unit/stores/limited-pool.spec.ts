import { expect, test } from '@jest/globals';
import { type CallbackConnection, LimitedPool } from '../../../lib/stores/mysql/limited-pool.js';
import { ManualClock } from '../../../lib/testing/index.js';

/** What became of the one connection of a pool whose statements all end in this way. */
async function fateAfter(error: Error | null): Promise<string[]> {
  const fate: string[] = [];
  const connection: CallbackConnection = {
    query: (_options, callback) => callback(error, 'rows'),
    release: () => fate.push('released'),
    destroy: () => fate.push('destroyed'),
  };
  const pool = new LimitedPool({ getConnection: (use) => use(null, connection) }, 1_000, new ManualClock());
  await pool.query('SELECT 1', []).catch(() => undefined);
  return fate;
}

test.each([
  ['a statement that is answered', null, 'released'],
  ['one that the server refuses', Object.assign(new Error('Duplicate entry'), { errno: 1062 }), 'released'],
  ['one that breaks the connection', Object.assign(new Error('ECONNRESET'), { fatal: true }), 'destroyed'],
  [
    'one that a server refuses which only reads',
    Object.assign(new Error('read-only'), { errno: 1290 }),
    'destroyed',
  ],
])('after %s, the connection is left as the next user needs it', async (_what, error, fate) => {
  expect(await fateAfter(error)).toEqual([fate]);
});

test('what was given up is ended over another connection, and looked for again when the database answers', async () => {
  const clock = new ManualClock();
  const sent: string[] = [];
  let silent = true;
  const connection: CallbackConnection = {
    threadId: 7,
    query: (options, callback) => {
      const { sql } = options as { sql: string };
      sent.push(sql.slice(0, 18));
      if (!silent) setImmediate(() => callback(null, [[], []]));
      return { sql };
    },
    release: () => undefined,
    destroy: () => undefined,
  };
  const pool = new LimitedPool({ getConnection: (use) => use(null, connection) }, 1_000, clock);
  const given = expect(pool.query('UPDATE t', [])).rejects.toThrow('no answer within 1000 ms');
  await clock.advance(1_000);
  await given;
  await clock.advance(60_000);
  expect(sent).toEqual(['UPDATE t', 'SELECT p.*, INFO L']);
  silent = false;
  await pool.query('SELECT 1', []);
  expect(sent.slice(2)).toEqual(['SELECT 1', 'SELECT p.*, INFO L']);
  expect(clock.pending).toBeLessThanOrEqual(1);
});
