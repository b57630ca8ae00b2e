import { expect, test } from '@jest/globals';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { free, request, scripted } from './support/scripted-dialect.js';

/* The table of the histories had a problem. Reads show that somebody has repaired it, or is about to. */

const record = { kept: { count: 5, age: 1_000 }, duration: 1 };

/** A store that knows of the problem, and what its table meets from now on. */
async function opened({ keeps }: { keeps: boolean }) {
  const clock = new ManualClock();
  const missing = new Error('column "body" does not exist');
  const table = { state: 'broken' as 'broken' | 'well', tries: 0, puts: 0 };
  const read = async (text: string): Promise<object[]> => {
    const isTry = !text.includes('clock');
    if (isTry) table.tries += 1;
    if (table.state === 'broken') throw missing;
    return [{ clock: 1, part: null }];
  };
  const entries = {
    table: 'shedlock_entries',
    creation: [],
    read,
    write: async () => 0,
    stored: (text: string) => text,
    textOf: (text: string) => text,
    put: async (rows: unknown[]) => rows.map(() => ((table.puts += 1), true)),
  };
  const store = new SqlLockStore(
    scripted({
      ...free,
      entries: entries as never,
      failure: (error) => (error === missing ? 'table' : 'refused'),
    }),
    { migrate: false, clock },
  );
  if (keeps) expect(await store.history.init()).toContain('The table shedlock_entries cannot be used');
  const entriesOf = () => store.history.entries({ name: 'job', limit: 5 });
  await expect(entriesOf()).rejects.toThrow('The table shedlock_entries cannot be used');
  table.tries = 0;
  return { table, store, entries: entriesOf };
}

test('a record that is to be written looks whether histories can be kept again, until they can', async () => {
  const { table, store, entries } = await opened({ keeps: true });
  table.state = 'well';
  await store.release({ ...request, fencingToken: 1 }, { record });
  await store.close();
  expect([table.tries, table.puts]).toEqual([3, 1]);
  await entries();
  expect(table.tries).toBe(3);
});

test('a store that keeps no histories tries no right to write by reading', async () => {
  const { table, store, entries } = await opened({ keeps: false });
  table.state = 'well';
  expect([await entries(), await store.history.instances()]).toEqual([[], []]);
  expect(table.tries).toBe(0);
});

test('to a store that is to write, a broken table is no empty one; to one that only reads, it is', async () => {
  const [writer, reader] = [await opened({ keeps: true }), await opened({ keeps: false })];
  await expect(writer.store.queuedCalls.left(['job'])).rejects.toThrow('shedlock_entries cannot be used');
  expect(await reader.store.queuedCalls.left(['job'])).toEqual([]);
});

test('what to do helps with a table that lacks a column, too: to create it does not', async () => {
  const { store } = await opened({ keeps: false });
  expect(await store.history.init()).toMatch(
    /cannot be used \(column "body" does not exist\), so .* are kept\. If it lacks a column, add that, or drop .*\. Then run this as a user who may:\n/,
  );
});

test('a user who may not create it is told so, and that somebody else has to', async () => {
  const missing = new Error('relation "shedlock_entries" does not exist');
  const forbidden = new Error('permission denied for schema public');
  const entries = {
    table: 'shedlock_entries',
    creation: ['CREATE TABLE shedlock_entries'],
    read: () => Promise.reject(missing),
  };
  const store = new SqlLockStore(
    scripted({
      ...free,
      entries: entries as never,
      migrate: () => Promise.reject(forbidden),
      failure: (error) => (error === missing ? 'table' : 'forbidden'),
    }),
    { migrate: true, clock: new ManualClock() },
  );
  expect(await store.history.init()).toContain(
    'cannot be used (permission denied for schema public), so neither histories nor queued calls are kept.',
  );
});
