import { beforeEach, expect, test } from '@jest/globals';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import type { RunEntry } from '../../../lib/contract/history-store.js';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import type { LockEntries, NewEntry } from '../../../lib/rules/entries/entries.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import { HistoryWriter } from '../../../lib/rules/entries/history.js';
import { fastPortOf } from '../../../lib/lock/access/safe-store.js';
import { MemoryDocuments } from '../../../lib/stores/memory/memory-documents.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const DAY = 86_400_000;
const kept = { count: 20, age: DAY };

let clock: ManualClock;
let entries: LockEntries & {
  puts: (readonly NewEntry[])[];
  drops: number;
  pause?: Promise<void>;
  failure?: Error;
};
let documents: MemoryDocuments;
let store: DocumentLockStore;
let tokens = 0;

beforeEach(() => {
  clock = new ManualClock();
  const memory = new MemoryEntries(clock);
  entries = {
    puts: [],
    drops: 0,
    async put(all) {
      entries.puts.push(all);
      await new Promise((resolve) => setImmediate(resolve));
      await entries.pause;
      if (entries.failure !== undefined) throw entries.failure;
      return memory.put(all);
    },
    list: (query) => memory.list(query),
    sums: (query) => memory.sums(query),
    async drop(seen) {
      entries.drops += 1;
      return memory.drop(seen);
    },
  };
  documents = new MemoryDocuments(clock);
  store = new DocumentLockStore(documents, { clock, entries });
});

async function take(name: string): Promise<LeaseRef> {
  const request = { name, token: `${++tokens}`, ttl: 60_000, holder: 'host', job: 'job', history: true };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

const end = (lease: LeaseRef): Promise<unknown> => store.release(lease, { record: { kept, duration: 1 } });

const raise = (): never => {
  throw new Error('There should be a lease');
};

const runsOf = async (name: string): Promise<RunEntry[]> =>
  (await store.history.entries({ name, limit: 1_000 })) as RunEntry[];

test('a record that cannot be written fails no release, and later ones are written again', async () => {
  entries.failure = new StoreUnavailableError('away', { outcome: 'not-applied' });
  expect(await end(await take('a'))).toEqual({ released: true });
  await store.close();
  delete entries.failure;
  const lease = await take('a');
  await end(lease);
  expect(await runsOf('a')).toMatchObject([{ fencingToken: lease.fencingToken, outcome: 'completed' }]);
});

test('a release waits for no record, and a shutdown waits for all of them', async () => {
  await end(await take('a'));
  const list = async () => (await entries.list({ lock: 'a' })).entries;
  expect(await list()).toHaveLength(0);
  await store.close();
  expect(await list()).toHaveLength(1);
});

test('records that come while one is being written share the next write', async () => {
  const leases = await Promise.all(Array.from({ length: 150 }, (_, i) => take(`job-${i}`)));
  const [first = raise(), ...others] = leases;
  await end(first);
  await clock.advance(250);
  await Promise.all(others.map(end));
  await store.close();
  expect(entries.puts.map((put) => put.length)).toEqual([1, 100, 49]);
});

test('while nothing is answered, the oldest records give way', async () => {
  const writer = new HistoryWriter(entries, clock);
  let answer = (): void => undefined;
  entries.pause = new Promise((resolve) => (answer = resolve));
  const record = { id: 'run', kind: 'run', version: '1', over: 'any', keep: DAY, body: '' } as const;
  for (let n = 0; n < 10_102; n++) {
    writer.add({ ...record, lock: `job-${n}` });
    // It is sent.
    if (n === 0) await clock.advance(250);
  }
  answer();
  await writer.flush();
  const names = entries.puts.flat().map(({ lock }) => lock);
  expect(names).toHaveLength(10_001);
  expect(names).toEqual(expect.arrayContaining(['job-0', 'job-102', 'job-10101']));
  expect(names).not.toContain('job-101');
});

test('a release that is sent again while its record waits adds none', async () => {
  const [first, second] = [await take('a'), await take('b')];
  let answer = (): void => undefined;
  entries.pause = new Promise((resolve) => (answer = resolve));
  await end(first);
  await clock.advance(250);
  for (const lease of [second, second]) await end(lease);
  answer();
  await store.close();
  expect(entries.puts.map((put) => put.length)).toEqual([1, 1]);
});

test('a write that nobody answers holds up later records, and readers, for 10 s at most', async () => {
  const [first, second, third] = [await take('a'), await take('b'), await take('c')];
  entries.pause = new Promise(() => undefined);
  await end(first);
  await end(second);
  delete entries.pause;
  await clock.advance(10_000);
  await end(third);
  expect(await runsOf('b')).toHaveLength(1);
  expect(await runsOf('c')).toHaveLength(1);
  await store.close();
});

test('who reads waits for the records that were there, not for those that come meanwhile', async () => {
  let goesOn = true;
  const leases = await Promise.all(Array.from({ length: 500 }, (_, i) => take(`job-${i}`)));
  const load = (async () => {
    for (const lease of leases) {
      if (!goesOn) return;
      await end(lease);
      await new Promise((resolve) => setImmediate(resolve));
    }
    goesOn = false;
  })();
  await end(await take('a'));
  expect(await runsOf('a')).toHaveLength(1);
  expect(goesOn).toBe(true);
  goesOn = false;
  await load;
});

test('the record of a run is kept though its lease cannot be given back', async () => {
  const lease = await take('a');
  const away = new StoreUnavailableError('away', { outcome: 'not-applied' });
  documents.write = () => Promise.reject(away);
  documents.read = () => Promise.reject(away);
  await expect(end(lease)).rejects.toThrow('away');
  expect(await runsOf('a')).toMatchObject([{ outcome: 'completed' }]);
});

test('what is too much is deleted now and then: a tenth too many may stay', async () => {
  for (let i = 0; i < 60; i++) {
    await end(await take('a'));
    expect((await runsOf('a')).length).toBeLessThanOrEqual(kept.count + 2);
  }
  expect((await runsOf('a')).length).toBeGreaterThanOrEqual(kept.count);
  expect(entries.drops).toBeGreaterThan(10);
  expect(entries.drops).toBeLessThan(31);
});

test('runs use the port without promises, and their records are kept; a release that somebody has replaced is called', async () => {
  const port = fastPortOf(store);
  const lease = await take('a');
  await new Promise((answered, failed) =>
    port?.release(lease, { record: { kept, duration: 1 } }, { answered, failed }),
  );
  expect(await runsOf('a')).toHaveLength(1);
  store.release = async () => ({ released: true });
  expect(fastPortOf(store)).toBeUndefined();
});

test('records that wait for others are one write, and none waits for one that asks', async () => {
  for (const name of ['a', 'b']) await end(await take(name));
  await clock.advance(249);
  expect(entries.puts).toEqual([]);
  await clock.advance(1);
  expect(entries.puts).toHaveLength(1);
  await store.close();
  await end(await take('a'));
  expect(await runsOf('a')).toHaveLength(2);
  expect(entries.puts.map(({ length }) => length)).toEqual([2, 1]);
  await clock.advance(1_000);
  expect(entries.puts).toHaveLength(2);
});

test('people see which calls wait for a lock', async () => {
  const lease = await take('job');
  const wait = { limit: DAY, priority: 0, process: 'one' };
  const waiting = { name: 'job', token: 'waits', ttl: 60_000, holder: 'host', wait };
  expect(await store.acquire(waiting)).toMatchObject({ acquired: false, waiting: { ahead: 0 } });
  expect(await store.inspect(['job'])).toMatchObject([
    { name: 'job', line: [{ priority: 0, since: clock.now() }] },
  ]);
  await store.release(lease, { outcome: 'completed' });
});

test('a store without entries has no line: a call that waits is told so', async () => {
  const plain = new DocumentLockStore(documents, { clock });
  const request = { name: 'job', ttl: 60_000, holder: 'host' };
  await plain.acquire({ ...request, token: 'first' });
  const wait = { limit: DAY, priority: 0, process: 'one' };
  await expect(plain.acquire({ ...request, token: 'second', wait })).rejects.toThrow('it keeps locks only');
});

test('a clean-up asks for the entries of ten locks together, and of no more', async () => {
  let [underWay, most] = [0, 0];
  const { list } = entries;
  entries.list = async (query) => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return list(query);
  };
  const leases = await Promise.all(Array.from({ length: 25 }, (_, n) => take(`lock-${n}`)));
  await Promise.all(leases.map(end));
  await store.close();
  expect(most).toBe(10);
});

test('a mark of a miss whose read is not answered has not been made: nobody reports the miss because of it', async () => {
  const alarm = { name: 'lock', job: 'job', tick: 1, kept };
  const { list } = entries;
  const silence = new StoreUnavailableError('no answer', { outcome: 'unknown' });
  entries.list = () => Promise.reject(silence);
  await expect(store.history.told(alarm)).rejects.toMatchObject({ outcome: 'not-applied', cause: silence });
  entries.list = list;
  entries.failure = silence;
  await expect(store.history.told(alarm)).rejects.toBe(silence);
  delete entries.failure;
  expect(await store.history.told(alarm)).toBe(true);
  expect(await store.history.told(alarm)).toBe(false);
});
