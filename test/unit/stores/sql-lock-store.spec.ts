import { describe, expect, jest, test } from '@jest/globals';
import { NOTHING_SEEN } from '../../../lib/stores/sql/answers.js';
import type { SqlDialect, TableLook } from '../../../lib/stores/sql/dialect.js';
import { LastGranted } from '../../../lib/stores/sql/last-granted.js';
import { SqlLockStore } from '../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../lib/testing/index.js';

const TOKEN = '0f8fad5b-d9cb-469f-a165-70867728950e';
const request = { name: 'job', token: TOKEN, ttl: 60_000, holder: 'host' };
const lease = { ...request, fencingToken: 1 };
const conflict = Object.assign(new Error('could not serialize access'), { conflict: true });

/** A database that answers as it is told. */
function scripted(script: Partial<SqlDialect<object>>): SqlDialect<object> {
  const nothing = (): never => {
    throw new Error('nobody told what to answer');
  };
  return {
    table: 'shedlock',
    look: async (): Promise<TableLook<object>> => ({ statements: {} }),
    migration: () => ['CREATE TABLE shedlock'],
    widening: () => 'ALTER TABLE shedlock',
    migrate: nothing,
    attempt: nothing,
    renew: nothing,
    giveBack: nothing,
    all: nothing,
    failure: (error) => (Object(error).conflict === true ? 'conflict' : 'refused'),
    ...script,
  };
}

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

describe('a table that vanishes', () => {
  test('is not looked for where there is nothing wrong, and never made by a call', async () => {
    let there = true;
    const missing = new Error('no such table');
    const migrate = jest.fn(async () => undefined);
    const look = jest.fn(async (): Promise<TableLook<object>> =>
      there ? { statements: {} } : { missing: 'The table shedlock does not exist.', lacks: 'table' },
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

describe('a migration that takes long', () => {
  const MISSING = { missing: 'The table shedlock has no column job_state.', lacks: 'columns' } as const;
  const granted = async () => ({ ...NOTHING_SEEN, granted: 7 });

  /** A store whose table is being altered until a test says what becomes of that. */
  function migrating() {
    let done = false;
    let fail!: (error: Error) => void;
    let succeed!: () => void;
    const looks = jest.fn(async (): Promise<TableLook<object>> => (done ? { statements: {} } : MISSING));
    const migrate = jest.fn(
      () =>
        new Promise<void>((resolve, reject) => {
          succeed = () => ((done = true), resolve());
          fail = reject;
        }),
    );
    const { clock, store } = opened({ look: looks, migrate, attempt: granted }, true);
    return {
      clock,
      store,
      looks,
      migrate,
      succeed: () => succeed(),
      fail: (error: Error) => fail(error),
      /** The database has altered the table, and the answer was lost. */
      lose: () => (done = true),
    };
  }

  const stillAt = (seconds: number) => ({
    code: 'STORE_UNAVAILABLE',
    outcome: 'not-applied',
    message: expect.stringContaining(
      `no column job_state. Its migration has been running for ${seconds} s, and no lock can be taken`,
    ),
  });

  test('does not keep the start, and goes on; calls are told what they wait for until it is done', async () => {
    const { clock, store, migrate, succeed } = migrating();
    const start = store.init();
    const started = expect(start).rejects.toMatchObject(stillAt(8));
    await clock.advance(1_000);
    await expect(store.acquire(request)).rejects.toMatchObject(stillAt(1));
    await clock.advance(7_000);
    await started;
    await clock.advance(22_000);
    await expect(store.acquire(request)).rejects.toMatchObject(stillAt(30));
    succeed();
    await clock.advance(0);
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    expect(migrate).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
  });

  test('that ends in time is waited for', async () => {
    const { clock, store, succeed } = migrating();
    const start = store.init();
    const call = store.acquire(request);
    await clock.advance(900);
    succeed();
    await start;
    expect(await call).toMatchObject({ acquired: true });
    expect(clock.pending).toBe(0);
  });

  test('is tried again by the next call if it failed', async () => {
    const { clock, store, migrate, fail, succeed } = migrating();
    const started = expect(store.init()).rejects.toMatchObject(stillAt(8));
    await clock.advance(8_000);
    await started;
    fail(new Error('a wait that was too long'));
    await clock.advance(0);
    const call = store.acquire(request);
    await clock.advance(0);
    succeed();
    expect(await call).toMatchObject({ acquired: true });
    expect(migrate).toHaveBeenCalledTimes(2);
  });

  test('is seen to have ended also if its answer is lost, by a look now and then', async () => {
    const { clock, store, looks, migrate, lose, fail } = migrating();
    const started = expect(store.init()).rejects.toMatchObject(stillAt(8));
    await clock.advance(8_000);
    await started;
    for (let i = 0; i < 5; i++) await expect(store.acquire(request)).rejects.toMatchObject(stillAt(8));
    expect(looks).toHaveBeenCalledTimes(1);
    lose();
    await clock.advance(2_000);
    await expect(store.acquire(request)).rejects.toMatchObject(stillAt(10));
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    // When the connection is found to be broken at last, nobody needs to know.
    fail(new Error('ETIMEDOUT'));
    await clock.advance(0);
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    expect([looks.mock.calls.length, migrate.mock.calls.length]).toEqual([2, 1]);
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
