import { expect, test } from '@jest/globals';
import { systemClock } from '../../../../lib/base/clock.js';
import type { NewEntry } from '../../../../lib/rules/entries/entries.js';
import { MysqlDialect } from '../../../../lib/stores/mysql/mysql-dialect.js';
import { SqlEntries } from '../../../../lib/stores/sql/entries.js';
import { Operations } from '../../../../lib/stores/sql/operations.js';

/* MySQL writes a batch of entries by several statements: what is known of it if one of them fails. */

const entry = (id: string, over: NewEntry['over'] = [null]): NewEntry => ({
  lock: 'job',
  id,
  version: 'v1',
  over,
  kind: 'kind',
  keep: 1_000,
  body: '{}',
});

const refused = Object.assign(new Error('too many connections'), { errno: 1040 });

/** Entries on a client that answers as it is told, and the statements that it was sent. */
function entriesOn(answers: (text: string) => unknown) {
  const sent: string[] = [];
  const query = async (text: string): Promise<unknown> => {
    // The look at the table, and what deletes old rows.
    if (text.endsWith('AND 1 = 0') || /^DELETE .* expires_at <[^=]/.test(text)) return { affectedRows: 0 };
    sent.push(text.split(' ')[0] ?? '');
    const answer = answers(text);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const dialect = new MysqlDialect({ query }, {}, 1_000);
  const operations = new Operations<never>(dialect as never, { ready: {} } as never, systemClock);
  const options = { migrate: false, clock: systemClock };
  return { sent, entries: new SqlEntries<never>(dialect as never, operations, options) };
}

test('entries that are new, or that replace whatever there is, are one statement each', async () => {
  const { sent, entries } = entriesOn(() => ({ affectedRows: 2 }));
  expect(await entries.put([entry('a'), entry('b', 'any'), entry('c')])).toEqual([true, true, true]);
  expect(sent).toEqual(['INSERT', 'INSERT']);
});

test('where one of several was there, a read tells which, and it is written if it may be', async () => {
  let update = 0;
  const { sent, entries } = entriesOn((text) => {
    // Somebody else has made the others.
    if (text.startsWith('SELECT')) return [];
    return { affectedRows: text.startsWith('INSERT') ? 1 : update++ };
  });
  expect(await entries.put([entry('a'), entry('b'), entry('c', ['v1'])])).toEqual(
    expect.arrayContaining([true, true, false]),
  );
  expect(sent).toEqual(['INSERT', 'SELECT', 'UPDATE', 'UPDATE', 'UPDATE']);
});

test('a put of which nothing was written was certainly not carried out', async () => {
  const { entries } = entriesOn(() => refused);
  await expect(entries.put([entry('a'), entry('b')])).rejects.toMatchObject({ outcome: 'not-applied' });
});

test('nobody knows what a put has written of which a later statement was refused', async () => {
  for (const failing of ['SELECT', 'UPDATE']) {
    const { entries } = entriesOn((text) => {
      if (text.startsWith(failing)) return refused;
      return text.startsWith('SELECT') ? [] : { affectedRows: 1 };
    });
    await expect(entries.put([entry('a'), entry('b')])).rejects.toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('too many connections. Some entries are written.'),
    });
  }
});
