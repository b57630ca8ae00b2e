import { expect, test } from '@jest/globals';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/index.js';
import { scripted } from './support/scripted-dialect.js';

/* The table of the runs had a problem. Reads show that somebody has repaired it, or is about to. */

/** A store that knows of the problem, and what its tables meet from now on. */
async function opened(migrate: boolean) {
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
    { migrate, clock },
  );
  const entries = () => store.history.entries({ name: 'job', limit: 5 });
  await expect(entries()).rejects.toThrow('The table shedlock_runs is missing, or lacks columns');
  return { clock, runs, store, entries };
}

test('what instances tell does not wait for a table of the runs that is being repaired', async () => {
  const { clock, runs, store } = await opened(true);
  runs.state = 'locked';
  const told = store.history.instances();
  await clock.advance(3_000);
  expect(await told).toEqual([]);
  expect(runs.waiting).toBe(0);
});

test('a read of the runs that succeeds has looked at once, and once at a time, whether they can be kept', async () => {
  const { clock, runs, entries } = await opened(true);
  runs.state = 'well';
  expect(await Promise.all([entries(), entries()])).toEqual([[], []]);
  await clock.advance(0);
  expect(runs.writes).toBe(3);
  await entries();
  await clock.advance(0);
  expect(runs.writes).toBe(3);
});

test('who must not create tables tries no right to write by reading', async () => {
  const { clock, runs, store, entries } = await opened(false);
  runs.state = 'well';
  expect([await entries(), await store.history.instances()]).toEqual([[], []]);
  await clock.advance(0);
  expect(runs.writes).toBe(0);
});
