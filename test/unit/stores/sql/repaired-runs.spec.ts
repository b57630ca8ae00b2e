import { expect, test } from '@jest/globals';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { scripted } from './support/scripted-dialect.js';

/* The table of the runs had a problem. Reads show that somebody has repaired it, or is about to. */

/** A store that knows of the problem, and what its tables meet from now on. */
async function opened({ keeps }: { keeps: boolean }) {
  const clock = new ManualClock();
  const missing = new Error('column "data" does not exist');
  const runs = { state: 'broken' as 'broken' | 'locked' | 'well', writes: 0, waiting: 0 };
  const read = async (text: string): Promise<[]> => {
    if (!text.includes('{runs}')) return [];
    if (!text.includes('(SELECT entry')) runs.writes += 1;
    if (runs.state === 'broken') throw missing;
    if (runs.state === 'well') return [];
    runs.waiting += 1;
    return new Promise(() => undefined);
  };
  const history = { runs: 'shedlock_runs', instances: 'shedlock_instances', stored: (name: string) => name };
  const store = new SqlLockStore(
    scripted({
      history: { ...history, creation: [], read } as never,
      failure: (error) => (error === missing ? 'table' : 'refused'),
    }),
    { migrate: false, clock },
  );
  const entries = () => store.history.entries({ name: 'job', limit: 5 });
  if (keeps) await store.history.init();
  runs.writes = 0;
  await expect(entries()).rejects.toThrow('The table shedlock_runs is missing, or lacks columns');
  return { clock, runs, store, entries };
}

test('what instances tell does not wait for a table of the runs that is being repaired', async () => {
  const { clock, runs, store } = await opened({ keeps: true });
  runs.state = 'locked';
  const told = store.history.instances();
  await clock.advance(3_000);
  expect(await told).toEqual([]);
  expect(runs.waiting).toBe(0);
});

test('a read of the runs that succeeds looks whether they can be kept again, until they can', async () => {
  const { runs, entries } = await opened({ keeps: true });
  runs.state = 'well';
  await entries();
  expect(runs.writes).toBe(3);
  await entries();
  expect(runs.writes).toBe(3);
});

test('a store that keeps no histories tries no right to write by reading', async () => {
  const { runs, store, entries } = await opened({ keeps: false });
  runs.state = 'well';
  expect([await entries(), await store.history.instances()]).toEqual([[], []]);
  expect(runs.writes).toBe(0);
});
