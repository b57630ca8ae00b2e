import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import type { NewQueuedCall, NextResult } from '../../../lib/contract/queued-call-store.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../../lib/base/errors.js';
import type { Entry, LockEntries, NewEntry } from '../../../lib/rules/entries/entries.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import { MemoryDocuments } from '../../../lib/stores/memory/memory-documents.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const DAY = 86_400_000;
const LOCK = 'calendar';
const TAKES = [{ job: 'job', ttl: DAY }];

/** Entries in memory; a test can step in between, or let them fail. */
class TestEntries implements LockEntries {
  readonly memory: MemoryEntries;
  calls = 0;
  /** Once, before the next entries are written. */
  before: ((entries: readonly NewEntry[]) => Promise<unknown>) | undefined;
  failure: Error | undefined;
  problem: string | undefined;

  constructor(clock: ManualClock) {
    this.memory = new MemoryEntries(clock);
  }

  async init(): Promise<string | undefined> {
    return this.problem;
  }

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    const { before } = this;
    this.before = undefined;
    await before?.(entries);
    return this.#call(() => this.memory.put(entries));
  }

  list: LockEntries['list'] = (query) => this.#call(() => this.memory.list(query));
  sums: LockEntries['sums'] = (query) => this.#call(() => this.memory.sums(query));
  drop: LockEntries['drop'] = (seen) => this.#call(() => this.memory.drop(seen));

  async #call<T>(call: () => Promise<T>): Promise<T> {
    this.calls += 1;
    if (this.failure !== undefined) throw this.failure;
    return call();
  }
}

let clock: ManualClock;
let documents: MemoryDocuments;
let entries: TestEntries;
let store: DocumentLockStore;
/** Another instance. */
let other: DocumentLockStore;

beforeEach(() => {
  clock = new ManualClock();
  documents = new MemoryDocuments(clock);
  entries = new TestEntries(clock);
  store = new DocumentLockStore(documents, { clock, entries });
  other = new DocumentLockStore(documents, { clock, entries });
});

const call = (fields: Partial<NewQueuedCall> = {}): NewQueuedCall => ({
  name: LOCK,
  id: randomUUID(),
  job: 'job',
  args: '[]',
  priority: 0,
  max: 1_000,
  redeliver: 1,
  ...fields,
});

const keep = (one: NewQueuedCall, by = store) => by.queuedCalls.enqueue(one);

async function take(ttl = 30 * DAY): Promise<LeaseRef> {
  const request = { name: LOCK, token: randomUUID(), ttl, holder: 'host' };
  const result = await store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${result.reason}`);
  return { ...request, fencingToken: result.fencingToken };
}

const next = (lease: LeaseRef, options = {}) => store.queuedCalls.next(lease, { takes: TAKES, ...options });

/** The lease with the queued call that it has got. */
function withCall(lease: LeaseRef, result: NextResult): LeaseRef {
  if (result.queuedCall === undefined) throw new Error('no queued call');
  return { ...lease, fencingToken: result.fencingToken, queuedCall: result.queuedCall.id };
}

const stored = async (): Promise<readonly Entry[]> => (await entries.memory.list({ lock: LOCK })).entries;

const unavailable = (fields = {}): Error =>
  new StoreUnavailableError('away', { outcome: 'not-applied', ...fields });

describe('what crosses', () => {
  test('a call for whose key the waiting one is taken at this moment runs after it', async () => {
    const lease = await take();
    const [first, second] = [call({ key: 'k' }), call({ key: 'k', args: '["new"]' })];
    await keep(first);
    let run: LeaseRef | undefined;
    entries.before = async () => void (run = withCall(lease, await next(lease)));
    expect(await keep(second, other)).toMatchObject({ queued: true, merged: 0 });
    expect(run?.queuedCall).toBe(first.id);
    expect(await next(run ?? lease, { outcome: 'completed' })).toMatchObject({
      queuedCall: { id: second.id, args: '["new"]' },
    });
  });

  test('a call that becomes one with the one that is being taken is run with it: nobody reads its arguments too early', async () => {
    const lease = await take();
    const first = call({ key: 'k' });
    await keep(first);
    entries.before = () => keep(call({ key: 'k', args: '["new"]' }), other);
    expect(await next(lease)).toMatchObject({
      queuedCall: { id: first.id, args: '["new"]', merged: 1, delivery: 1 },
    });
  });

  test('a call whose key comes first at the same moment on another instance becomes one with that one', async () => {
    const first = call({ key: 'k' });
    entries.before = () => keep(first, other);
    expect(await keep(call({ key: 'k' }))).toMatchObject({ queued: true, merged: 1, id: first.id });
    expect(await stored()).toHaveLength(1);
  });

  test('a call that another instance leaves no room for at this moment is refused; it stays if nobody can count', async () => {
    const small = () => call({ max: 1 });
    entries.before = async () => void (await keep(small(), other));
    expect(await keep(small())).toEqual({ queued: false });
    expect(await stored()).toHaveLength(1);
    const { sums } = entries;
    const roomFor = { max: 2 };
    entries.before = async () => {
      await keep(call(roomFor), other);
      entries.sums = () => Promise.reject(unavailable());
    };
    expect(await keep(call(roomFor))).toMatchObject({ queued: true });
    entries.sums = sums;
    expect(await stored()).toHaveLength(3);
  });

  test('a call that is taken back twice, as a client may send a command twice, is queued once more if there is room', async () => {
    for (const each of [store, other]) await each.queuedCalls.init?.();
    const { drop } = entries;
    entries.drop = async (seen) => {
      entries.drop = drop;
      await drop(seen);
      await drop((await stored()).filter(({ id }) => id !== seen[0]?.id));
      return drop(seen);
    };
    entries.before = async () => void (await keep(call({ max: 1 }), other));
    expect(await keep(call({ max: 1 }))).toMatchObject({ queued: true });
    expect(await stored()).toHaveLength(1);
  });

  test('a call of which nobody knows whether it was taken back does not count as queued', async () => {
    for (const each of [store, other]) await each.queuedCalls.init?.();
    const { drop } = entries;
    entries.drop = async (seen) => {
      await drop(seen);
      throw unavailable({ outcome: 'unknown' });
    };
    entries.before = async () => void (await keep(call({ max: 1 }), other));
    await expect(keep(call({ max: 1 }))).rejects.toMatchObject({ outcome: 'unknown' });
  });

  test('a lease that runs out while it takes a call gets nothing, which is no delivery: the next holder gets it', async () => {
    const lease = await take(1_000);
    const one = call({ redeliver: 0 });
    await keep(one);
    entries.before = () => clock.advance(1_000);
    expect(await next(lease)).toMatchObject({ held: false });
    expect(await next(await take())).toMatchObject({ queuedCall: { id: one.id, delivery: 1 }, dead: [] });
  });

  test('so it does with a call that the lease has just put back, as its run was interrupted', async () => {
    const one = call({ redeliver: 1 });
    await keep(one);
    const lease = await take();
    const run = withCall(lease, await next(lease, { takes: [{ job: 'job', ttl: 1_000 }] }));
    // Before the second write: it takes the call again.
    entries.before = async () => (entries.before = () => clock.advance(1_000));
    expect(await next(run, { outcome: 'aborted' })).toMatchObject({ held: false });
    expect(await next(await take())).toMatchObject({ queuedCall: { id: one.id, delivery: 2 }, dead: [] });
  });

  test('a call that two holders take, as the lease of one ran out, goes to one of them', async () => {
    const lease = await take(1_000);
    await keep(call());
    let heir: NextResult | undefined;
    entries.before = async () => {
      await clock.advance(1_000);
      heir = await next(await take());
    };
    expect(await next(lease)).toMatchObject({ held: false });
    expect(heir).toMatchObject({ queuedCall: { delivery: 1 } });
  });
});

describe('a holder that asks again', () => {
  test.each([
    ['before its lease was granted anew', 'write'],
    ['after that', undefined],
  ])('gets the call that it has taken, once: the database failed %s', async (_when, what) => {
    const lease = await take();
    const one = call();
    await keep(one);
    const write = documents.write.bind(documents);
    documents.write = async (changes) => {
      documents.write = write;
      if (what === undefined) await write(changes);
      throw unavailable({ outcome: 'unknown' });
    };
    await expect(next(lease)).rejects.toThrow('away');
    // Comes before it in the queue.
    await keep(call({ priority: 10 }));
    const again = await next(lease);
    expect(again).toMatchObject({ held: true, queuedCall: { id: one.id, delivery: 1 } });
  });
});

describe('a caller who has given up', () => {
  test('queues nothing: its turn came too late', async () => {
    entries.before = () => new Promise(() => undefined);
    void keep(call({ max: 10 }));
    const late = store.queuedCalls.enqueue(call({ max: 10 }), { limit: 500 });
    const refused = expect(late).rejects.toMatchObject({ outcome: 'not-applied' });
    await clock.advance(1_000);
    await refused;
    expect(await stored()).toHaveLength(0);
  });

  test('takes no call: the look at it was answered too late', async () => {
    const lease = await take();
    await keep(call({ redeliver: 0 }));
    const { list } = entries;
    entries.list = async (query) => {
      entries.list = list;
      await clock.advance(2_000);
      return list(query);
    };
    await expect(next(lease, { limit: 500 })).rejects.toMatchObject({ outcome: 'unknown' });
    expect(await next(lease)).toMatchObject({ queuedCall: { delivery: 1 }, dead: [] });
  });
});

describe('what is kept', () => {
  test('for seven days from its beginning, however often it is written', async () => {
    const lease = await take();
    const one = call({ key: 'k', redeliver: 100 });
    await keep(one);
    await clock.advance(3 * DAY);
    await keep(call({ key: 'k' }));
    const run = withCall(lease, await next(lease));
    await next(run, { outcome: 'aborted' });
    await clock.advance(4 * DAY - 1);
    expect(await stored()).toHaveLength(1);
    await clock.advance(2);
    expect(await stored()).toHaveLength(0);
    expect(await keep(call({ key: 'k' }))).toMatchObject({ merged: 0 });
  });

  test('a hundred dead letters, the newest ones', async () => {
    let lease = await take();
    const calls = Array.from({ length: 103 }, () => call());
    for (const one of calls) await keep(one);
    for (const [i] of calls.entries()) {
      await clock.advance(1);
      lease = withCall(lease, await next(lease, i === 0 ? {} : { outcome: 'failed' }));
    }
    await store.release(lease, { outcome: 'timed-out' });
    const [info] = await store.inspect([LOCK]);
    expect(info?.dead?.map(({ id }) => id)).toEqual(
      calls
        .slice(3)
        .map(({ id }) => id)
        .reverse(),
    );
    expect(info?.dead?.[0]).toMatchObject({ reason: 'timed-out', at: clock.now(), deliveries: 1 });
    expect(info?.queued).toBeUndefined();
    expect(await store.queuedCalls.redeliver(LOCK, calls[50]?.id)).toBe(1);
    expect(await store.queuedCalls.redeliver(LOCK, calls[50]?.id)).toBe(0);
    expect(await store.queuedCalls.redeliver(LOCK)).toBe(99);
  });

  test('in the order in which calls come to one instance, in line or queued, also after the clock was set back', async () => {
    const lease = await take();
    const wait = { limit: DAY, priority: 0, process: 'one' };
    const inLine = () => store.acquire({ ...lease, token: randomUUID(), wait });
    const places: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      places.push(await keep(call()), await inLine());
      clock.setWallClock(clock.now() - 1_000);
    }
    const numbers = places.map((one) => {
      const { place, waiting } = one as { place?: number; waiting?: { place: number } };
      return place ?? waiting?.place ?? NaN;
    });
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(6);
  });

  test('behind those of its priority, for which it reads few entries, also where many of a lower one stand behind it', async () => {
    for (let i = 0; i < 20; i++) await keep(call({ priority: i < 3 ? 0 : -1 }));
    const { list } = entries;
    let reads = 0;
    entries.list = async (query) => {
      const read = await list(query);
      reads += read.entries.length;
      return read;
    };
    // The clock of another instance's calls was ahead.
    clock.setWallClock(clock.now() - 60_000);
    const queued = await keep(call(), other);
    entries.list = list;
    const [, , last, after] = await stored();
    expect(queued).toMatchObject({ place: after?.place });
    expect(after?.place).toBe((last?.place ?? NaN) + 1);
    expect(reads).toBeLessThan(3);
  });

  test('before a call that waits if it came earlier to another instance, however slow a look of that one was', async () => {
    const { read } = documents;
    documents.read = async (names) => {
      const found = await read.call(documents, names);
      await clock.advance(500);
      return found;
    };
    const lease = await take();
    documents.read = read;
    await clock.advance(100);
    const queued = await keep(call(), other);
    await clock.advance(100);
    const wait = { limit: DAY, priority: 0, process: 'one' };
    const waits = await store.acquire({ ...lease, token: randomUUID(), wait });
    const places = [queued.queued && queued.place, !waits.acquired && waits.waiting?.place];
    expect(places).toEqual([(clock.now() - 100) * 1_000, clock.now() * 1_000]);
  });
});

describe('an entry that cannot be read', () => {
  const damaged = (fields: Partial<NewEntry> = {}): Promise<boolean[]> =>
    entries.memory.put([
      {
        lock: LOCK,
        id: 'x',
        version: 'x',
        over: 'any',
        kind: 'call',
        job: 'job',
        place: 1,
        keep: DAY,
        body: '{',
        ...fields,
      },
    ]);

  test('is put aside, and stops no call behind it', async () => {
    const lease = await take();
    await damaged();
    const one = call();
    await keep(one);
    expect(await next(lease)).toMatchObject({ queuedCall: { id: one.id } });
    const [info] = await store.inspect([LOCK]);
    expect(info).toMatchObject({ queued: 1 });
    expect(info?.dead).toBeUndefined();
    expect(await store.queuedCalls.redeliver(LOCK)).toBe(0);
  });

  test('takes no call with its key', async () => {
    await keep(call({ key: 'k' }));
    const [{ id = '', version = '' } = {}] = await stored();
    const { slot = '' } = (await stored())[0] as Entry & { slot?: string };
    await damaged({ id, slot, over: [version], body: '{"id":"one"}\n[]' });
    expect(await keep(call({ key: 'k' }))).toMatchObject({ queued: true, merged: 0 });
  });
});

describe('many calls of one key', () => {
  test('at once on one instance share a read and a write, but for the first', async () => {
    await keep(call({ key: 'k' }));
    entries.calls = 0;
    const kept = await Promise.all(Array.from({ length: 20 }, () => keep(call({ key: 'k' }))));
    expect(kept.map((each) => each.queued && each.merged)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    expect(entries.calls).toBe(4);
  });

  test('wait a second for one that nobody answers, and then pass it', async () => {
    await keep(call({ key: 'k' }));
    entries.before = () => new Promise(() => undefined);
    void keep(call({ key: 'k' }));
    const second = keep(call({ key: 'k' }));
    await clock.advance(1_000);
    expect(await second).toMatchObject({ queued: true, merged: 1 });
  });
});

describe('a database', () => {
  test.each([
    ['queued', 'not-applied', () => keep(call())],
    // The run before it may have ended.
    ['taken', 'unknown', (lease: LeaseRef) => next(lease)],
  ] as const)(
    'that never writes over what was read is given up: of a call that is %s the outcome is %s',
    async (_what, outcome, ask) => {
      const lease = await take();
      await keep(call());
      entries.put = async (all) => all.map(() => false);
      const failure = ask(lease).catch((error: unknown) => error);
      for (let i = 0; i < 100; i++) await clock.advance(50);
      expect(await failure).toBeInstanceOf(StoreUnavailableError);
      const message = 'Others changed what is kept beside the lock again and again meanwhile.';
      expect(await failure).toMatchObject({ outcome, message });
    },
  );

  test('that refuses to show the calls says so of each lock; one that is away fails the look', async () => {
    await take();
    entries.failure = unavailable({ refused: true });
    expect(await store.inspect([LOCK])).toMatchObject([{ name: LOCK, unknown: 'away' }]);
    entries.failure = unavailable();
    await expect(store.inspect([LOCK])).rejects.toThrow('away');
  });

  test('that can keep no entries, or deletes none, stops the start; one that is away does not', async () => {
    await store.queuedCalls.init?.();
    entries.problem = 'It is full.';
    const failure = store.queuedCalls.init?.();
    await expect(failure).rejects.toThrow(SchedulerLockConfigError);
    await expect(failure).rejects.toThrow('store: calls can neither wait in line nor be queued. It is full.');
    entries.problem = undefined;
    entries.failure = unavailable({ refused: true });
    await expect(store.queuedCalls.init?.()).rejects.toThrow(
      'store: calls can neither wait in line nor be queued. away',
    );
    entries.failure = unavailable();
    await expect(store.queuedCalls.init?.()).rejects.toThrow(StoreUnavailableError);
  });
});

describe('a queued call that was taken, and not granted', () => {
  /** What keeps the store from the grant. */
  const failures: [why: string, arm: () => object][] = [
    [
      'because the store did not carry the grant out',
      () => {
        const { write } = documents;
        documents.write = async () => {
          documents.write = write;
          throw new StoreUnavailableError('away', { outcome: 'not-applied' });
        };
        return {};
      },
    ],
    [
      'because nobody waited for it any more',
      () => {
        entries.before = async () => clock.advance(20);
        return { limit: 10 };
      },
    ],
  ];

  test.each(failures)('%s, counts no delivery', async (_why, arm) => {
    const lease = await take();
    const kept = call({ redeliver: 0 });
    await keep(kept);
    await expect(next(lease, arm())).rejects.toThrow(StoreUnavailableError);
    await store.release(lease, { outcome: 'abandoned' });
    const result = await next(await take());
    expect(result).toMatchObject({ queuedCall: { id: kept.id, delivery: 1 }, dead: [] });
  });
});

test('somebody who runs the queued calls of one lock attends to no other lock', async () => {
  for (const name of [LOCK, 'another']) {
    const request = { name, token: randomUUID(), ttl: DAY, holder: 'host' };
    await store.acquire(request);
  }
  const first = await keep(call());
  const place = first.queued ? first.place : NaN;
  await keep(call({ name: 'another' }));
  const wait = { limit: DAY, priority: 0, process: 'one', place, drains: true };
  await store.acquire({ name: LOCK, token: randomUUID(), ttl: DAY, holder: 'host', wait });
  const left = await store.queuedCalls.left(['job']);
  expect(left.map(({ name }) => name)).toEqual(['another']);
});

test('queued calls of more locks than one call of the place asks for are all found', async () => {
  const names = Array.from({ length: 1_500 }, (_, i) => `lock-${i}`);
  for (const name of names) await keep(call({ name }));
  const left = await store.queuedCalls.left(['job']);
  expect(new Set(left.map(({ name }) => name)).size).toBe(names.length);
});

test('queued calls are found up to the first locks that cannot be read', async () => {
  for (let i = 0; i < 1_500; i++) await keep(call({ name: `lock-${i}` }));
  const { read } = documents;
  let failing = 2;
  documents.read = async (names) => {
    if (--failing === 0) throw new Error('too much at once');
    return read.call(documents, names);
  };
  expect(await store.queuedCalls.left(['job'])).toHaveLength(1_000);
  expect(await store.queuedCalls.left(['job'])).toHaveLength(1_500);
  failing = 1;
  await expect(store.queuedCalls.left(['job'])).rejects.toThrow('too much at once');
});
