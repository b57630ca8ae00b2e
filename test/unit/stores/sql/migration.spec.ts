import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { SqlDialect, TableLook } from '../../../../lib/stores/sql/dialect.js';
import type { SqlFailure } from '../../../../lib/stores/sql/failure.js';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { until } from '../../../support/until.js';
import { free, request, scripted } from './support/scripted-dialect.js';

const MISSING = {
  missing: 'The table shedlock has no column state.',
  lacks: 'columns',
  migration: ['ALTER TABLE shedlock'],
} as const;

function opened(script: Partial<SqlDialect<object>>) {
  const clock = new ManualClock();
  return { clock, store: new SqlLockStore(scripted(script), { migrate: true, clock }) };
}

describe('a migration that takes long', () => {
  /** A store whose table is being altered until a test says what becomes of that. */
  function migrating() {
    let done = false;
    let fail!: (error: Error) => void;
    let succeed!: () => void;
    const looks = jest.fn(async (): Promise<TableLook<object>> => (done ? { table: {} } : MISSING));
    const migrate = jest.fn(
      () =>
        new Promise<void>((resolve, reject) => {
          succeed = () => ((done = true), resolve());
          fail = reject;
        }),
    );
    const { clock, store } = opened({ look: looks, migrate, ...free });
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
      `no column state. Its migration has been running for ${seconds} s, and no lock can be taken`,
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
    await clock.advance(0);
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    // When the connection is found to be broken at last, nobody needs to know.
    fail(new Error('ETIMEDOUT'));
    await clock.advance(0);
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
    expect([looks.mock.calls.length, migrate.mock.calls.length]).toEqual([2, 1]);
    expect(clock.pending).toBe(0);
  });

  test('by hand waits for the one that the start has begun, and whoever asks then begins another', async () => {
    const { clock, store, migrate, succeed } = migrating();
    const all = [store.init(), store.migrate(), store.migrate()];
    await clock.advance(500);
    succeed();
    await Promise.all(all);
    expect(migrate).toHaveBeenCalledTimes(1);
    await store.migrate();
    expect(migrate).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
  });
});

test('a migration by hand goes on with the look of a call that may create nothing itself', async () => {
  let missing = true;
  let answer!: () => void;
  const clock = new ManualClock();
  const look = jest.fn(async (): Promise<TableLook<object>> => {
    if (look.mock.calls.length === 1) await new Promise<void>((resolve) => (answer = resolve));
    return missing ? MISSING : { table: {} };
  });
  const migrate = jest.fn(async () => void (missing = false));
  const store = new SqlLockStore(scripted({ look, migrate, ...free }), { migrate: false, clock });
  const call = store.acquire(request);
  await until(() => look.mock.calls.length === 1);
  const migrated = store.migrate();
  answer();
  await migrated;
  expect(await call).toMatchObject({ acquired: true });
  expect([look.mock.calls.length, migrate.mock.calls.length, clock.pending]).toEqual([3, 1, 0]);
});

test('a migration by hand does not wait for a look that is never answered, nor does a call then', async () => {
  const clock = new ManualClock();
  const look = jest.fn(async (): Promise<TableLook<object>> => {
    if (look.mock.calls.length === 1) await new Promise(() => undefined);
    return { table: {} };
  });
  const store = new SqlLockStore(scripted({ look, ...free }), { migrate: false, clock });
  const call = store.acquire(request);
  await until(() => look.mock.calls.length === 1);
  await store.migrate();
  expect(await call).toMatchObject({ acquired: true });
});

test('a migration by hand of a complete table keeps no call from it', async () => {
  const answers: (() => void)[] = [];
  const look = async (): Promise<TableLook<object>> => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return { table: {} };
  };
  const { clock, store } = opened({ look, ...free });
  const start = store.init();
  answers.shift()?.();
  await start;
  const migrated = store.migrate();
  expect(await store.acquire(request)).toMatchObject({ acquired: true });
  answers.shift()?.();
  await migrated;
  expect(await store.acquire(request)).toMatchObject({ acquired: true });
  expect([answers.length, clock.pending]).toEqual([0, 0]);
});

describe('a migration that others keep from the table', () => {
  const random = jest.spyOn(Math, 'random');

  beforeEach(() => void random.mockReturnValue(1));
  afterAll(() => random.mockRestore());

  /** A store whose table cannot be altered until `free` is called. */
  function kept(failure: SqlFailure = 'locked') {
    let free = false;
    let tries = 0;
    const { clock, store } = opened({
      look: async () => (free ? { table: {} } : MISSING),
      migrate: async () => {
        tries += 1;
        throw new Error('canceling statement due to lock timeout');
      },
      failure: () => failure,
    });
    return { clock, store, tries: () => tries, free: () => (free = true) };
  }

  test.each<SqlFailure>(['locked', 'unknown'])(
    'is tried again after a pause, a longer one each time (%s)',
    async (failure) => {
      const { clock, store, tries, free } = kept(failure);
      const migrated = store.migrate();
      const counts: number[] = [];
      for (const seconds of [1, 2, 4, 8, 10, 10]) {
        await clock.advance(seconds * 1_000 - 1);
        counts.push(tries());
        await clock.advance(1);
      }
      expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
      await expect(store.acquire(request)).rejects.toMatchObject({
        message:
          'The table shedlock has no column state. Its migration has been running for 35 s, and no lock can be taken until it is done. ' +
          'The last try was given up, and the next one follows: canceling statement due to lock timeout. ' +
          'It may be waiting for a transaction that uses the table.',
      });
      free();
      await clock.advance(10_000);
      await migrated;
      expect([tries(), clock.pending]).toEqual([7, 0]);
    },
  );

  test('is tried at other times by other instances', async () => {
    random.mockReturnValue(0);
    const { clock, store, tries } = kept();
    const migrated = store.migrate().catch(() => undefined);
    await clock.advance(499);
    expect(tries()).toBe(1);
    await clock.advance(1);
    expect(tries()).toBe(2);
    await store.close();
    await migrated;
  });

  test('ends when the store is closed, and is begun by no call after that', async () => {
    const { clock, store, tries } = kept();
    const migrated = expect(store.migrate()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
      message: expect.stringMatching(/closed before .* no column state/),
    });
    await clock.advance(500);
    await store.close();
    await migrated;
    expect(clock.pending).toBe(0);
    await expect(store.acquire(request)).rejects.toMatchObject({ outcome: 'not-applied' });
    await clock.advance(60_000);
    expect(tries()).toBe(1);
    await store.close();
  });

  test('ends with any other error', async () => {
    const { clock, store, tries } = kept('refused');
    await expect(store.migrate()).rejects.toMatchObject({ message: expect.stringContaining('lock timeout') });
    expect([tries(), clock.pending]).toEqual([1, 0]);
  });

  test('is given up if what it lacks is never there, though nothing fails', async () => {
    const migrate = jest.fn(async () => undefined);
    const { store } = opened({ look: async () => MISSING, migrate });
    await expect(store.migrate()).rejects.toThrow(/no column state\. Run this/);
    expect(migrate).toHaveBeenCalledTimes(20);
  });
});
