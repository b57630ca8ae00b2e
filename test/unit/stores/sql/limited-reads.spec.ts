import { describe, expect, test } from '@jest/globals';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { scripted } from './support/scripted-dialect.js';

describe('a table of which a read is never answered', () => {
  /** A store, and what its reads meet: no answer at all, or one at once. */
  function opened() {
    const clock = new ManualClock();
    const database = { answers: false, asked: 0, waiting: [] as (() => void)[] };
    const store = new SqlLockStore(
      scripted({
        read: () => {
          database.asked += 1;
          return database.answers
            ? Promise.resolve({ now: 0, documents: [] })
            : new Promise((resolve) => database.waiting.push(() => resolve({ now: 0, documents: [] })));
        },
      }),
      { migrate: false, clock },
    );
    const read = (): Promise<string> =>
      store.inspect(['job']).then(
        () => 'told',
        (error: Error) => error.message,
      );
    return { clock, database, read };
  }
  const late = expect.stringContaining('The table shedlock has not answered within 3 s.');

  test('refuses further reads at once while that one waits', async () => {
    const { clock, database, read } = opened();
    const lost = read();
    await clock.advance(3_000);
    expect(await lost).toEqual(late);
    expect(await read()).toEqual(late);
    expect(database.asked).toBe(1);
  });

  test('is asked by all as soon as that read is answered after all', async () => {
    const { clock, database, read } = opened();
    void read();
    await clock.advance(3_000);
    database.answers = true;
    expect(await read()).toEqual(late);
    for (const answer of database.waiting) answer();
    await clock.advance(0);
    expect(await read()).toBe('told');
  });

  test('leaves no timer behind', async () => {
    const { clock, read } = opened();
    void read();
    await clock.advance(3_000);
    void read();
    expect(clock.pending).toBe(0);
  });
});
