import { expect, jest, test } from '@jest/globals';
import { NOTHING_SEEN } from '../../../../lib/stores/sql/answers.js';
import type { LockRow } from '../../../../lib/stores/sql/lock-row.js';
import { SqlLockStore } from '../../../../lib/stores/sql/sql-lock.store.js';
import type { AcquireRequest } from '../../../../lib/index.js';
import { request, scripted } from './support/scripted-dialect.js';

const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `job-${i}`);
const heldRow = (name: string): LockRow => ({
  name,
  by: 'another/0f8fad5b-d9cb-469f-a165-70867728950e',
  remaining: 1_000,
  since: 0,
  fence: 5,
  now: 0,
  jobs: {},
});

/** A store, and what it asks its database. @param isFree whether an attempt takes the lock */
function opened(isFree: (name: string) => boolean, held: () => readonly string[] = () => []) {
  const looks: number[] = [];
  let [underWay, most] = [0, 0];
  const attempt = jest.fn(async (_table: object, { name }: AcquireRequest) => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return isFree(name)
      ? { ...NOTHING_SEEN, granted: 7 }
      : { ...NOTHING_SEEN, ...heldRow(name), startable: 0 };
  });
  const rows = async (_table: object, asked: readonly string[] = []): Promise<LockRow[]> => {
    looks.push(asked.length);
    return held().map(heldRow);
  };
  const store = new SqlLockStore(scripted({ attempt, rows }), { migrate: false });
  const asked = (count: number) => names(count).map((name) => store.acquire({ ...request, name }));
  const volley = (count: number) => Promise.all(asked(count));
  const settled = (count: number) => Promise.allSettled(asked(count));
  return { volley, settled, looks, attempt, most: () => most };
}

test('an instance that is alone looks once, and takes ten locks at a time', async () => {
  const { volley, looks, attempt, most } = opened(() => true);
  expect(await volley(25)).toEqual(names(25).map(() => ({ acquired: true, fencingToken: 7 })));
  expect([looks, attempt.mock.calls.length, most()]).toEqual([[25], 25, 10]);
});

test('it looks again while others take locks as well, and leaves out what they have taken by then', async () => {
  const taken = new Set(names(25).filter((_, i) => i % 2 === 0));
  let isKnown = false;
  const { volley, looks, attempt } = opened(
    (name) => !taken.has(name),
    () => {
      const held = isKnown ? [...taken] : [];
      isKnown = true;
      return held;
    },
  );
  const results = await volley(25);
  expect(results.filter(({ acquired }) => acquired)).toHaveLength(12);
  expect(results.filter((result) => !result.acquired && result.reason === 'held')).toHaveLength(13);
  expect(looks).toEqual([25, 15]);
  // The first ten by themselves, of the others only those that are free.
  expect(attempt.mock.calls.length).toBeLessThan(25);
});

test('a look that fails fails those that are left, and only those', async () => {
  const { settled, looks } = opened(
    () => false,
    () => {
      if (looks.length === 2) throw new Error('away');
      return [];
    },
  );
  const results = await settled(25);
  const answered = results.filter(({ status }) => status === 'fulfilled');
  const failed = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  expect([answered.length, failed.length]).toEqual([10, 15]);
  for (const error of failed)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' });
});

test('an attempt that is alone in its turn needs no look', async () => {
  const { volley, looks } = opened(() => true);
  await volley(1);
  expect(looks).toEqual([]);
});

test('one that waits for a locked row keeps no other from its lock', async () => {
  let unlock!: () => void;
  const locked = new Promise<void>((resolve) => (unlock = resolve));
  const attempt = async (_table: object, { name }: AcquireRequest) => {
    if (name === 'job-0') await locked;
    return { ...NOTHING_SEEN, granted: 7 };
  };
  const store = new SqlLockStore(scripted({ attempt, rows: async () => [] }), { migrate: false });
  const [waiting, ...others] = names(40).map((name) => store.acquire({ ...request, name }));
  expect(await Promise.all(others)).toHaveLength(39);
  unlock();
  expect(await waiting).toMatchObject({ acquired: true });
});

test('a look that nobody answers keeps no attempt back', async () => {
  const attempt = async () => ({ ...NOTHING_SEEN, granted: 7 });
  const rows = () => new Promise<LockRow[]>(() => undefined);
  const store = new SqlLockStore(scripted({ attempt, rows }), { migrate: false });
  const asked = names(12).map((name) => store.acquire({ ...request, name }));
  expect(await Promise.all(asked)).toHaveLength(12);
});

test('a look that is late refuses those that have not been sent by then', async () => {
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const attempt = jest.fn(async () => {
    answer();
    await new Promise((resolve) => setImmediate(resolve));
    return { ...NOTHING_SEEN, granted: 7 };
  });
  const rows = jest.fn(async (_table: object, asked: readonly string[] = []) => {
    await answered;
    return asked.map(heldRow);
  });
  const store = new SqlLockStore(scripted({ attempt, rows }), { migrate: false });
  const results = await Promise.all(names(40).map((name) => store.acquire({ ...request, name })));
  expect(results.filter(({ acquired }) => acquired)).toHaveLength(10);
  expect([attempt.mock.calls.length, rows.mock.calls.length]).toEqual([10, 1]);
});

test('a look whose connection breaks leaves it to the attempts', async () => {
  const attempt = jest.fn(async () => ({ ...NOTHING_SEEN, granted: 7 }));
  const rows = async (): Promise<LockRow[]> => {
    throw new Error('reset');
  };
  const failure = () => 'unknown' as const;
  const store = new SqlLockStore(scripted({ attempt, rows, failure }), { migrate: false });
  const results = await Promise.all(names(25).map((name) => store.acquire({ ...request, name })));
  expect(results.filter(({ acquired }) => acquired)).toHaveLength(25);
});

test('an attempt whose caller has given up meanwhile is not sent', async () => {
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const attempt = jest.fn(async () => {
    await answered;
    return { ...NOTHING_SEEN, granted: 7 };
  });
  const store = new SqlLockStore(scripted({ attempt, rows: async () => [] }), { migrate: false });
  const told = names(25).map(() => ({ givenUp: false, answered: jest.fn(), failed: jest.fn() }));
  for (const [i, one] of told.entries()) store.fastPort.acquire({ ...request, name: `job-${i}` }, one);
  while (attempt.mock.calls.length < 10) await new Promise((resolve) => setImmediate(resolve));
  for (const one of told) one.givenUp = true;
  answer();
  while (told.some(({ answered: a, failed: f }) => a.mock.calls.length + f.mock.calls.length === 0))
    await new Promise((resolve) => setImmediate(resolve));
  expect(attempt).toHaveBeenCalledTimes(10);
  const failed = told.flatMap((one) => one.failed.mock.calls.flat());
  expect(failed).toHaveLength(15);
  for (const error of failed)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', outcome: 'not-applied' });
});

test('intervals that are not due yet are refused by one look', async () => {
  const NOW = 100_000;
  let start = { due: NOW + 5_000, interval: 10_000 };
  const free = (name: string): LockRow => ({ ...heldRow(name), remaining: 0, now: NOW, jobs: { '': start } });
  const attempt = jest.fn(async () => ({ ...NOTHING_SEEN, granted: 7 }));
  const store = new SqlLockStore(scripted({ attempt, rows: async (_table, asked = []) => asked.map(free) }), {
    migrate: false,
  });
  const ask = (interval: number) =>
    Promise.all(names(25).map((name) => store.acquire({ ...request, name, interval })));
  for (const result of await ask(10_000))
    expect(result).toEqual({ acquired: false, reason: 'already-ran', expiresIn: 4_000 });
  // With a shorter interval they are due.
  await ask(5_000);
  expect(attempt).toHaveBeenCalledTimes(25);
  // No start puts the due time this far ahead: the clock was set back.
  start = { due: NOW + 12_000, interval: 10_000 };
  await ask(10_000);
  expect(attempt).toHaveBeenCalledTimes(50);
});
