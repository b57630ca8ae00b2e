import { expect, test } from '@jest/globals';
import { KillAbandoned } from '../../../../lib/stores/mysql/kill-abandoned.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const STATEMENT = { thread: 7, text: "UPDATE `t` SET a = '50 %_| é'" };
const LOOK = { values: ["UPDATE `t` SET a = '50 |%|_|| %'%", 7] };
const ENDED = [[], []];
const AT_IT = [[{ same: 1 }], []];
const IDLE = [[{ same: null }], []];
const silence = new Error('no answer');
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What is asked of a server that answers in turn what it is given, and then nothing any more. */
function asked(...answers: unknown[]) {
  const clock = new ManualClock();
  const statements: { text: string; values: unknown[] }[] = [];
  const killAbandoned = new KillAbandoned(async (text, values) => {
    statements.push({ text, values });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer ?? new Promise(() => undefined);
  }, clock);
  return { clock, statements, killAbandoned, texts: () => statements.map(({ text }) => text.slice(0, 17)) };
}

test.each([
  ['on MariaDB by its own number', { same: 1, QUERY_ID: 99 }, 'KILL QUERY ID 99'],
  ['on MySQL by that of its connection', { same: 1 }, 'KILL QUERY 7'],
])('a statement that still runs is ended, %s', async (_where, row, kill) => {
  const { statements, killAbandoned } = asked([[row], []], [{ affectedRows: 0 }, undefined]);
  killAbandoned.add(STATEMENT);
  await turn();
  expect(statements).toEqual([expect.objectContaining(LOOK), { text: kill, values: [] }]);
});

test.each([
  ['a connection that is gone', ENDED],
  ['a connection that is at something else', [[{ same: 0 }], []]],
  ['a server that does not let itself be asked', Object.assign(new Error('denied'), { errno: 1227 })],
])('%s is left alone, and not asked for again', async (_what, answer) => {
  const { clock, statements, killAbandoned } = asked(answer);
  killAbandoned.add(STATEMENT);
  await clock.advance(60_000);
  killAbandoned.resume();
  await turn();
  expect(statements).toHaveLength(1);
});

test('a statement that the server has not begun yet is looked for again, a few times', async () => {
  const { clock, texts, killAbandoned } = asked(IDLE, AT_IT, {}, IDLE, IDLE, IDLE);
  killAbandoned.add(STATEMENT);
  await clock.advance(999);
  killAbandoned.resume();
  expect(texts()).toHaveLength(1);
  await clock.advance(1);
  expect(texts().slice(1)).toEqual([texts()[0], 'KILL QUERY 7']);
  killAbandoned.add(STATEMENT);
  await clock.advance(60_000);
  expect(texts()).toHaveLength(6);
  expect(clock.pending).toBe(0);
});

test('a statement on a connection whose number is not known is left alone', async () => {
  const { statements, killAbandoned } = asked();
  for (const thread of [Number.NaN, 0, -1, 1.5]) killAbandoned.add({ ...STATEMENT, thread });
  await turn();
  expect(statements).toEqual([]);
});

test('they are ended one after another, and one that is refused keeps no other', async () => {
  const refused = Object.assign(new Error('no such thread'), { errno: 1094 });
  const { texts, killAbandoned } = asked(AT_IT, refused, AT_IT, {});
  killAbandoned.add(STATEMENT);
  killAbandoned.add(STATEMENT);
  expect(texts()).toHaveLength(1);
  await turn();
  expect(texts()).toEqual(['SELECT p.*, INFO ', 'KILL QUERY 7', 'SELECT p.*, INFO ', 'KILL QUERY 7']);
});

test('a database that is silent is asked a few times, and again when it has answered somebody', async () => {
  const { clock, statements, killAbandoned } = asked(silence, silence, silence, ENDED, ENDED);
  killAbandoned.add(STATEMENT);
  await clock.advance(999);
  expect(statements).toHaveLength(1);
  await clock.advance(60_000);
  expect(statements).toHaveLength(3);
  expect(clock.pending).toBe(0);
  killAbandoned.resume();
  await turn();
  killAbandoned.resume();
  await turn();
  expect(statements).toHaveLength(4);
});

test('while it is asked nothing else is; of what gathers meanwhile the newest are kept', async () => {
  let answer!: (rows: unknown) => void;
  const threads: unknown[] = [];
  const killAbandoned = new KillAbandoned((_text, [, thread]) => {
    threads.push(thread);
    return threads.length > 1 ? Promise.resolve(ENDED) : new Promise((resolve) => (answer = resolve));
  }, new ManualClock());
  for (let thread = 1; thread <= 251; thread++) killAbandoned.add({ ...STATEMENT, thread });
  killAbandoned.resume();
  expect(threads).toEqual([1]);
  answer(ENDED);
  await turn();
  expect(threads).toEqual([1, ...Array.from({ length: 100 }, (_, i) => 152 + i)]);
});
