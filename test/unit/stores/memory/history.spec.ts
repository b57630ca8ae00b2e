import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Retention } from '../../../../lib/contract/history-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { INSTANCES_KEPT, MAX_INSTANCES } from '../../../../lib/contract/history-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { beat } from '../../../support/beat.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let clock: ManualClock;
let store: MemoryLockStore;
let tokens = 0;

beforeEach(() => {
  clock = new ManualClock();
  store = new MemoryLockStore({ clock });
});

async function take(name: string, fields = {}): Promise<LeaseRef> {
  const request = { name, token: `${++tokens}`, ttl: HOUR, holder: 'host:1:abc', history: true, ...fields };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`${name} is taken: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

async function run(name: string, kept: Retention): Promise<number> {
  const lease = await take(name);
  await store.release(lease, { record: { kept, duration: 5 } });
  await store.history.flush?.();
  return lease.fencingToken;
}

const tokensOf = async (name: string): Promise<number[]> =>
  (await store.history.entries({ name, limit: 100 })).map((entry) =>
    entry.type === 'run' ? entry.fencingToken : -entry.tick,
  );

describe('of each lock', () => {
  test('so many completed runs are kept, and as many other entries', async () => {
    const job = { job: 'Jobs.nightly', tick: 1 };
    await store.release(await take('nightly', job));
    const kept = { count: 2, age: DAY };
    const miss = { name: 'nightly', job: 'Jobs.nightly', instance: 'a', reason: 'held', count: 1, kept };
    for (const tick of [2, 3, 4]) await store.history.miss({ ...miss, tick });
    const runs: number[] = [];
    for (let i = 0; i < 4; i++) runs.push(await run('nightly', kept));
    expect(await tokensOf('nightly')).toEqual([runs[3], runs[2], -4, -3]);
  });

  test('entries are kept until they are too old', async () => {
    const first = await run('nightly', { count: 9, age: 2 * DAY });
    await clock.advance(DAY);
    const second = await run('nightly', { count: 9, age: 2 * DAY });
    await clock.advance(DAY - 1);
    expect(await tokensOf('nightly')).toEqual([second, first]);
    await clock.advance(1);
    expect(await tokensOf('nightly')).toEqual([second]);
    // A read that drops what is too old leaves the rest to the next one.
    expect(await tokensOf('nightly')).toEqual([second]);
    await clock.advance(DAY);
    expect(await tokensOf('nightly')).toEqual([]);
  });
});

test('the entry of a run has no field without a value', async () => {
  await run('by hand', { count: 9, age: DAY });
  const [entry = {}] = await store.history.entries({ name: 'by hand', limit: 1 });
  expect(Object.entries(entry).filter(([, value]) => value === undefined)).toEqual([]);
});

test('a lock is remembered as long as its entries are, and forgotten with them', async () => {
  await run('kept', { count: 9, age: 3 * DAY });
  for (let i = 0; i < 999; i++) await take(`import-${i}`);
  await clock.advance(2 * DAY);
  await take('one more');
  const names = async () => (await store.inspect()).map(({ name }) => name);
  expect(await names()).toEqual(['kept', 'one more']);
  await clock.advance(2 * DAY);
  for (let i = 0; i < 1_000; i++) await take(`export-${i}`);
  expect(await names()).not.toContain('kept');
  expect(await tokensOf('kept')).toEqual([]);
});

describe('instances', () => {
  const ids = async () => (await store.history.instances()).map(({ instance }) => instance);

  test('are remembered for days after their last beat', async () => {
    for (const instance of ['a', 'b']) await store.history.beat(beat(instance, { jobs: [] }));
    await clock.advance(DAY);
    await store.history.beat(beat('a', { jobs: [] }));
    await clock.advance(INSTANCES_KEPT - DAY);
    expect(await ids()).toEqual(['b', 'a']);
    await clock.advance(1);
    expect(await ids()).toEqual(['a']);
  });

  test('are no more than so many: those that were not seen for longest give way', async () => {
    for (let i = 0; i < MAX_INSTANCES; i++) await store.history.beat(beat(`${i}`, { jobs: [] }));
    await store.history.beat(beat('0'));
    await store.history.beat(beat('new'));
    const all = await ids();
    expect(all).toHaveLength(MAX_INSTANCES);
    expect(all).toEqual(expect.arrayContaining(['0', 'new']));
    expect(all).not.toContain('1');
  });

  test('take their lists of jobs with them: a list that nobody has any more has to come again', async () => {
    await store.history.beat(beat('a', { catalogue: 'old', jobs: [] }));
    await store.history.beat(beat('b', { catalogue: 'old' }));
    await store.history.beat(beat('a', { catalogue: 'new', jobs: [] }));
    expect(await store.history.beat(beat('c', { catalogue: 'old' }))).toMatchObject({ known: true });
    for (let day = 0; day < 9; day++) {
      await clock.advance(DAY);
      const told = { catalogue: 'new', jobs: [] };
      for (const instance of ['b', 'c', 'a']) await store.history.beat(beat(instance, told));
    }
    expect(await store.history.beat(beat('d', { catalogue: 'old' }))).toMatchObject({ known: false });
    expect(await ids()).toEqual(['b', 'c', 'a']);
  });
});
