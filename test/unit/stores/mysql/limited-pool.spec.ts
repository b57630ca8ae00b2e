import { describe, expect, test } from '@jest/globals';
import { type CallbackConnection, LimitedPool } from '../../../../lib/stores/mysql/limited-pool.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

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

describe('an event loop that is blocked for longer than a statement may take', () => {
  function asked() {
    const clock = new ManualClock();
    const fate: string[] = [];
    let answer!: (error: null, result: unknown) => void;
    const connection: CallbackConnection = {
      query: (_options, callback) => (answer = callback),
      release: () => fate.push('released'),
      destroy: () => fate.push('destroyed'),
    };
    const pool = new LimitedPool({ getConnection: (use) => use(null, connection) }, 1_000, clock);
    const result = pool.query('SELECT 1', []).then(String, (error: Error) => error.message);
    return { clock, fate, result, answer };
  }

  test('reads the answer that has come meanwhile', async () => {
    const { clock, fate, result, answer } = asked();
    clock.block(5_000);
    await clock.advance(0);
    expect(fate).toEqual([]);
    answer(null, 'rows');
    expect(await result).toBe('rows');
    await clock.advance(60_000);
    expect(fate).toEqual(['released']);
    expect(clock.pending).toBe(0);
  });

  test('gives up where none has come, also if it is blocked again', async () => {
    const { clock, fate, result } = asked();
    clock.block(5_000);
    await clock.advance(0);
    clock.block(5_000);
    await clock.advance(0);
    expect(fate).toEqual(['destroyed']);
    expect(await result).toBe('no answer within 1000 ms, so the connection was closed');
  });

  test('is not one whose timers are a little late', async () => {
    const { clock, fate } = asked();
    clock.block(1_004);
    await clock.advance(0);
    expect(fate).toEqual(['destroyed']);
  });
});

test('a socket that nobody answers on is destroyed with what has happened, for whoever waits for the end of the connection', async () => {
  const clock = new ManualClock();
  const fate: string[] = [];
  const connection: CallbackConnection = {
    stream: { destroy: (error: Error) => fate.push(`its socket: ${error.message}`) },
    query: () => undefined,
    release: () => fate.push('released'),
    destroy: () => fate.push('destroyed'),
  };
  const pool = new LimitedPool({ getConnection: (use) => use(null, connection) }, 1_000, clock);
  const given = expect(pool.query('SELECT 1', [])).rejects.toThrow('no answer within 1000 ms');
  await clock.advance(1_000);
  await given;
  expect(fate).toEqual(['destroyed', 'its socket: no answer within 1000 ms, so the connection was closed']);
});
