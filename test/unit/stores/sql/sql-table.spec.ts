import { expect, test } from '@jest/globals';
import type { SqlDialect } from '../../../../lib/stores/sql/dialect.js';
import type { SqlFailure } from '../../../../lib/stores/sql/failure.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { SqlTable, TableError } from '../../../../lib/stores/sql/sql-table.js';

const MISSING = { missing: 'The table locks does not exist.', migration: ['CREATE TABLE locks'] };

/** A table whose dialect answers so. */
function tableOf(
  parts: Partial<SqlDialect<string>>,
  failure: SqlFailure = 'unknown',
  clock?: ManualClock,
): SqlTable<string> {
  const dialect = {
    look: () => Promise.resolve({ table: 'locks' }),
    attempt: () => Promise.resolve(),
    migrate: () => Promise.resolve(undefined),
    setup: (locks: readonly string[] = ['ALL OF IT']) => locks.join(';'),
    failure: () => failure,
    ...parts,
  };
  return new SqlTable(dialect, { migrate: true, ...(clock && { clock }) });
}

test('a table that is not seen after it was created stops the start: it is not created for ever', async () => {
  let created = 0;
  const table = tableOf({
    look: () => Promise.resolve(MISSING),
    migrate: async () => {
      if (++created > 1_000) throw new Error('created for ever');
    },
  });
  await expect(table.whenReady()).rejects.toThrow(TableError);
  await expect(table.whenReady()).rejects.toThrow(/does not exist\. .*CREATE TABLE locks/s);
  expect(created).toBeLessThan(100);
});

test('a table that others lock all the time stops the start with that, however long the pause before the last try is', async () => {
  const clock = new ManualClock();
  const table = tableOf(
    {
      look: () => Promise.resolve(MISSING),
      migrate: async () => {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, 5_900));
        throw new Error('lock timeout');
      },
    },
    'locked',
    clock,
  );
  const told = expect(table.whenReady()).rejects.toThrow(/could not be created: lock timeout.*CREATE TABLE/s);
  for (let second = 0; second < 8; second++) await clock.advance(1_000);
  await told;
});

test.each(['locked', 'conflict'] as const)(
  'a table that others use (%s) at the start is away, and not misconfigured',
  async (failure) => {
    const error = new Error('canceling statement due to lock timeout');
    const table = tableOf({ attempt: () => Promise.reject(error) }, failure);
    await expect(table.whenReady()).rejects.toBe(error);
  },
);

test.each([
  ['forbidden', /^The user may not use the table: no\. .*ALL OF IT/s],
  ['table', /^The table cannot be used: no\. .*ALL OF IT/s],
] as const)('a try that fails because of it (%s) says so, with the SQL', async (failure, message) => {
  const table = tableOf({ attempt: () => Promise.reject(new Error('no')) }, failure);
  await expect(table.whenReady()).rejects.toThrow(TableError);
  await expect(table.whenReady()).rejects.toThrow(message);
});
