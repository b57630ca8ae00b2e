import { describe, expect, jest, test } from '@jest/globals';
import type { SqlDialect, TableLook } from '../../../../lib/stores/sql/dialect.js';
import type { SqlFailure } from '../../../../lib/stores/sql/failure.js';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { free, request, scripted } from './support/scripted-dialect.js';

const lease = { ...request, fencingToken: 1 };
const conflict = Object.assign(new Error('could not serialize access'), { conflict: true });
const STATE = JSON.stringify({ token: '', holder: '', fence: 0 });
const nothing = async () => ({ now: 1_000, documents: [] });

function opened(script: Partial<SqlDialect<object>>, migrate = false) {
  const clock = new ManualClock();
  return { clock, store: new SqlLockStore(scripted(script), { migrate, clock }) };
}

describe('a statement that was rolled back because of others', () => {
  test('is tried again after a look, until it gets through', async () => {
    let tries = 0;
    const { clock, store } = opened({
      ...free,
      write: async (_table, changes) => {
        tries += 1;
        if (tries < 5) throw conflict;
        return changes.map(() => true);
      },
    });
    const result = store.acquire(request);
    await clock.advance(1_000);
    expect(await result).toMatchObject({ acquired: true });
    expect(tries).toBe(5);
  });

  test('is given up, as not carried out, when all tries have failed', async () => {
    const renew = jest.fn(async () => Promise.reject(conflict));
    const { clock, store } = opened({ ...free, renew, write: () => Promise.reject(conflict) });
    const [result] = [store.extend([lease], { limit: 100 })];
    await clock.advance(1_000);
    expect(await result).toMatchObject([{ held: null, error: { code: 'LOCK_STATE' } }]);
    expect(clock.pending).toBe(0);
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
      read: nothing,
      renew: async (_table, batch) => {
        batches.push(batch.map(({ name }) => name.at(-1)).join(''));
        if (batch.some(({ name }) => name === 'job-5')) throw locked;
        return batch.map(() => true);
      },
      write: () => Promise.reject(locked),
    });
    const results = store.extend(leases);
    await clock.advance(2_000);
    expect(await results).toEqual(leases.map(({ name }) => (name === 'job-5' ? isLocked : held)));
    expect(batches).toEqual(['01234567', '0123', '4567', '45', '4', '5', '67']);
    expect(clock.pending).toBe(0);
  });

  test('are waited for if that is a moment only', async () => {
    let tries = 0;
    const { clock, store } = opened({
      failure,
      read: nothing,
      renew: async (_table, batch) => batch.map(() => false),
      write: async (_table, changes) => {
        tries += 1;
        if (tries < 4) throw locked;
        return changes.map(() => true);
      },
    });
    const results = store.extend([lease]);
    await clock.advance(1_000);
    expect(await results).toMatchObject([held]);
  });

  test('stop none of the other changes of their batch, and are named with their table', async () => {
    const { clock, store } = opened({
      failure,
      read: nothing,
      write: async (_table, changes) => {
        if (changes.some(({ name }) => name === 'job-5')) throw locked;
        return changes.map(() => true);
      },
    });
    const results = Promise.allSettled(leases.map((each) => store.release(each)));
    await clock.advance(2_000);
    const told = (await results).map((each) => (each.status === 'fulfilled' ? each.value : each.reason));
    expect(told.filter((_, i) => i !== 5)).toEqual(
      Array.from({ length: 7 }, () => ({ released: false, reason: 'expired' })),
    );
    expect(told[5]).toMatchObject({
      code: 'LOCK_STATE',
      lock: 'job-5',
      message: expect.stringContaining('shedlock'),
    });
  });
});

test.each<[string, SqlFailure, string]>([
  ['that refuses the credentials is an error of the set-up', 'denied', 'SchedulerLockConfigError'],
  ['that is away is one that may come back', 'refused', 'StoreUnavailableError'],
  ['that answers something unknown is so, too', 'unknown', 'StoreUnavailableError'],
])('at the start a database %s', async (_what, failure, name) => {
  const { store } = opened({ failure: () => failure, look: () => Promise.reject(new Error('no luck')) });
  await expect(store.init()).rejects.toMatchObject({ name, message: expect.stringContaining('no luck') });
});

test('a row that the table refuses is granted to nobody, and stops no other of its batch', async () => {
  const refused = new Error('violates check constraint');
  const { clock, store } = opened({
    failure: (error) => (error === refused ? 'lock' : 'refused'),
    read: nothing,
    write: async (_table, changes) => {
      if (changes.some(({ name }) => name === 'job-1')) throw refused;
      return changes.map(() => true);
    },
  });
  const attempts = Array.from({ length: 4 }, (_, i) => store.acquire({ ...request, name: `job-${i}` }));
  const results = Promise.allSettled(attempts);
  await clock.advance(2_000);
  const granted = { status: 'fulfilled', value: expect.objectContaining({ acquired: true }) };
  const named = { status: 'rejected', reason: expect.objectContaining({ lock: 'job-1' }) };
  expect(await results).toEqual([granted, named, granted, granted]);
});

describe('a database that is gone between two statements of a batch', () => {
  const gone = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const isKnown = (name: string) => name < 'job-4';
  const row = (name: string) => ({ name, version: 'v', by: 'another', until: 0, since: 0, state: STATE });

  /** The first write answers, then the database is away. */
  function closing(writes: (names: string) => boolean | Error) {
    let isAway = false;
    return opened({
      failure: (error) => (error === locked ? 'locked' : 'refused'),
      read: async (_table, names) => {
        if (isAway) throw gone;
        const documents = (names as string[]).filter(isKnown).map(row);
        return { now: 1_000, documents };
      },
      write: async (_table, changes) => {
        if (isAway) throw gone;
        const answer = writes(changes.map(({ name }) => name.at(-1)).join(''));
        if (answer instanceof Error) throw answer;
        isAway = true;
        return changes.map(() => answer);
      },
    });
  }
  const locked = Object.assign(new Error('lock wait timeout'), { locked: true });

  async function attempts(store: SqlLockStore<object>, count: number): Promise<string> {
    const all = Array.from({ length: count }, (_, i) => store.acquire({ ...request, name: `job-${i}` }));
    const settled = await Promise.allSettled(all);
    return settled
      .map((each) =>
        each.status === 'fulfilled'
          ? each.value.acquired
            ? '+'
            : '-'
          : (each.reason as { outcome?: string }).outcome,
      )
      .join(' ');
  }

  test('has granted what it has answered, where rows are there and others are new', async () => {
    const { store } = closing(() => true);
    expect(await attempts(store, 6)).toBe('+ + + + not-applied not-applied');
  });

  test('has granted what it has answered, where a row was locked', async () => {
    const { store } = closing((names) => (names.length > 2 ? locked : true));
    expect(await attempts(store, 4)).toBe('+ + not-applied not-applied');
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
            migration: ['CREATE TABLE shedlock'],
          },
    );
    const { store } = opened(
      {
        look,
        migrate,
        read: () => (there ? nothing() : Promise.reject(missing)),
        write: (table, changes) => (there ? free.write(table, changes) : Promise.reject(missing)),
        failure: (error) => (error === missing ? 'table' : 'refused'),
      },
      true,
    );
    await store.init();
    const looks = look.mock.calls.length;
    for (let calls = 0; calls < 3; calls++) await store.acquire({ ...request, name: `job-${calls}` });
    expect(look).toHaveBeenCalledTimes(looks);
    there = false;
    for (let calls = 0; calls < 3; calls++) {
      await expect(store.acquire(request)).rejects.toMatchObject({
        outcome: 'not-applied',
        message: expect.stringMatching(/is gone.*CREATE TABLE/s),
      });
    }
    expect(migrate).not.toHaveBeenCalled();
    there = true;
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
  });
});

describe('a table that is only read', () => {
  test('is looked at once, and used again when it is back', async () => {
    const missing = new Error('no such table');
    let there = true;
    const look = jest.fn(async (): Promise<TableLook<object>> => ({ table: {} }));
    const { store } = opened({
      look,
      read: () => (there ? nothing() : Promise.reject(missing)),
      entries: { read: async () => [{ clock: 1, part: null }], stored: (name: string) => name } as never,
      failure: (error) => (error === missing ? 'table' : 'refused'),
    });
    for (let reads = 0; reads < 3; reads++) {
      expect(await store.inspect(['job'])).toEqual([]);
      expect(await store.history.entries({ name: 'job', limit: 5 })).toEqual([]);
    }
    expect(look).toHaveBeenCalledTimes(1);
    there = false;
    await expect(store.inspect(['job'])).rejects.toThrow('no such table');
    there = true;
    expect(await store.inspect(['job'])).toEqual([]);
    expect(look).toHaveBeenCalledTimes(1);
  });
});
