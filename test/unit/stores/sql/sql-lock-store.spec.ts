import { describe, expect, jest, test } from '@jest/globals';
import { AGAIN, NOTHING_SEEN } from '../../../../lib/stores/sql/answers.js';
import type { SqlDialect, TableLook } from '../../../../lib/stores/sql/dialect.js';
import { LastGranted } from '../../../../lib/stores/sql/last-granted.js';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { request, scripted } from './support/scripted-dialect.js';

const lease = { ...request, fencingToken: 1 };
const conflict = Object.assign(new Error('could not serialize access'), { conflict: true });

function opened(script: Partial<SqlDialect<object>>, migrate = false) {
  const clock = new ManualClock();
  return { clock, store: new SqlLockStore(scripted(script), { migrate, clock }) };
}

describe('a statement that was rolled back because of others', () => {
  test('is tried again after a pause, a little longer each time, until it gets through', async () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(1);
    let tries = 0;
    const { clock, store } = opened({
      attempt: async () => {
        tries += 1;
        if (tries < 10) throw conflict;
        return { ...NOTHING_SEEN, granted: 7 };
      },
    });
    const result = store.acquire(request);
    const counts: number[] = [];
    for (const pause of [2, 4, 8, 16, 32, 50, 50, 50, 50]) {
      await clock.advance(pause - 1);
      counts.push(tries);
      await clock.advance(1);
    }
    expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(await result).toEqual({ acquired: true, fencingToken: 7 });
    random.mockRestore();
  });

  test('is given up, as not carried out, when all tries have failed', async () => {
    let tries = 0;
    const { clock, store } = opened({
      attempt: async () => {
        tries += 1;
        throw conflict;
      },
    });
    const failed = expect(store.acquire(request)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
    });
    await clock.advance(1_000);
    await failed;
    expect(tries).toBe(10);
    expect(clock.pending).toBe(0);
  });

  test('is given up when nobody waits for it any more', async () => {
    let tries = 0;
    const { clock, store } = opened({
      renew: async () => {
        tries += 1;
        await new Promise<void>((resolve) => clock.setTimer(resolve, 60));
        throw conflict;
      },
    });
    const failed = expect(store.extend([lease], { limit: 100 })).rejects.toMatchObject({
      outcome: 'not-applied',
    });
    await clock.advance(1_000);
    await failed;
    expect(tries).toBe(2);
  });
});

describe('rows that others have locked', () => {
  const locked = Object.assign(new Error('lock wait timeout'), { locked: true });
  const failure = (error: unknown) => (error === locked ? 'locked' : 'refused');
  const leases = Array.from({ length: 8 }, (_, i) => ({ ...lease, name: `job-${i}` }));
  const held = { held: true };
  const isLocked = { held: null, error: expect.objectContaining({ code: 'LOCK_STATE' }) };

  test('are told apart in a batch that fails because of one of them, by halves', async () => {
    const batches: string[] = [];
    const { clock, store } = opened({
      failure,
      renew: async (_statements, batch) => {
        batches.push(batch.map(({ name }) => name.at(-1)).join(''));
        if (batch.some(({ name }) => name === 'job-5')) throw locked;
        return batch.map(() => true);
      },
    });
    const results = store.extend(leases);
    await clock.advance(1_000);
    expect(await results).toEqual(leases.map(({ name }) => (name === 'job-5' ? isLocked : held)));
    expect(batches.slice(0, 7)).toEqual(['01234567', '0123', '4567', '45', '4', '5', '67']);
    // Then it alone is asked for again, for a little while.
    expect(batches.slice(7)).toEqual(Array.from({ length: 9 }, () => '5'));
    expect(clock.pending).toBe(0);
  });

  test('are waited for if that is a moment only', async () => {
    let tries = 0;
    const { clock, store } = opened({
      failure,
      renew: async (_statements, batch) => {
        tries += 1;
        if (tries < 4) throw locked;
        return batch.map(() => true);
      },
    });
    const results = store.extend([lease]);
    await clock.advance(1_000);
    expect(await results).toEqual([held]);
  });

  test('do not hold up the answer for the others until nobody waits for it', async () => {
    const { clock, store } = opened({
      failure,
      renew: async (_statements, batch) => {
        await new Promise<void>((resolve) => clock.setTimer(resolve, 30));
        if (batch.length > 1) throw locked;
        return batch.map(() => true);
      },
    });
    const started = clock.monotonic();
    let answered = NaN;
    const results = store.extend(leases, { limit: 200 }).then((all) => {
      answered = clock.monotonic() - started;
      return all;
    });
    await clock.advance(1_000);
    expect(answered).toBeLessThan(200);
    expect((await results).slice(0, 1)).toEqual([held]);
    expect((await results).slice(-1)).toEqual([isLocked]);
  });

  test('are told of, beside those that were renewed, if the database goes away meanwhile', async () => {
    let tries = 0;
    const { clock, store } = opened({
      failure,
      renew: async (_statements, batch) => {
        if ((tries += 1) > 1) throw new Error('gone');
        return batch.map(({ name }) => (name === 'job-5' ? AGAIN : true));
      },
    });
    const results = store.extend(leases);
    await clock.advance(1_000);
    const gone = { held: null, error: expect.objectContaining({ code: 'STORE_UNAVAILABLE' }) };
    expect(await results).toEqual(leases.map(({ name }) => (name === 'job-5' ? gone : held)));
  });
});

describe('a table that vanishes', () => {
  test('is not looked for where there is nothing wrong, and never made by a call', async () => {
    let there = true;
    const missing = new Error('no such table');
    const migrate = jest.fn(async () => undefined);
    const look = jest.fn(async (): Promise<TableLook<object>> =>
      there
        ? { table: {} }
        : {
            missing: 'The table shedlock does not exist.',
            lacks: 'table',
            migration: ['CREATE TABLE shedlock'],
          },
    );
    const { store } = opened(
      {
        look,
        migrate,
        attempt: async () => {
          if (!there) throw missing;
          return { ...NOTHING_SEEN, granted: 7 };
        },
        failure: (error) => (error === missing ? 'table' : 'refused'),
      },
      true,
    );
    await store.init();
    const looks = look.mock.calls.length;
    for (let calls = 0; calls < 3; calls++) await store.acquire(request);
    expect(look).toHaveBeenCalledTimes(looks);
    there = false;
    for (let calls = 0; calls < 3; calls++) {
      await expect(store.acquire(request)).rejects.toMatchObject({
        outcome: 'not-applied',
        message: expect.stringMatching(/does not exist\. It was there before.*CREATE TABLE/s),
      });
    }
    expect(migrate).not.toHaveBeenCalled();
    there = true;
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
  });
});

describe('a table that is only read', () => {
  test('is looked at once, and again when a statement misses something', async () => {
    const missing = new Error('no such table');
    let there = true;
    const look = jest.fn(async (): Promise<TableLook<object>> => ({ table: {} }));
    const { store } = opened({
      look,
      rows: async () => (there ? [] : Promise.reject(missing)),
      queuedCalls: { stored: (name: string) => name, read: async () => [] } as never,
      history: { read: async () => [], stored: (name: string) => name } as never,
      failure: (error) => (error === missing ? 'table' : 'refused'),
    });
    for (let reads = 0; reads < 3; reads++) {
      expect(await store.inspect(['job'])).toEqual([]);
      expect(await store.history.entries({ name: 'job', limit: 5 })).toEqual([]);
    }
    expect(look).toHaveBeenCalledTimes(1);
    there = false;
    await expect(store.inspect(['job'])).rejects.toThrow('no such table');
    expect(look).toHaveBeenCalledTimes(2);
    there = true;
    expect(await store.inspect(['job'])).toEqual([]);
    expect(look).toHaveBeenCalledTimes(3);
  });
});

test('of the locks that were granted last, as many are remembered as an application has', () => {
  const granted = new LastGranted();
  for (let i = 0; i < 1_500; i++) granted.note(`job-${i}`, true);
  expect([granted.has('job-499'), granted.has('job-500'), granted.has('job-1499')]).toEqual([
    false,
    true,
    true,
  ]);
  granted.note('job-1499', false);
  expect(granted.has('job-1499')).toBe(false);
});

test('a release works though the next one in line cannot be called: it finds out by asking', async () => {
  const { store } = opened({
    giveBack: async () => ({ live: true, line: true }),
    rows: () => Promise.reject(new Error('connection lost')),
  });
  expect(await store.release(lease)).toEqual({ released: true });
});
