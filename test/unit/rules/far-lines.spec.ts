import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import type { AcquireRefusal, AcquireResult } from '../../../lib/contract/lock-store.js';
import type { RunResult } from '../../../lib/lock/lock-call.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import type { LockEntries } from '../../../lib/rules/entries/entries.js';
import type { LockDocuments } from '../../../lib/contract/port.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import { MemoryDocuments } from '../../../lib/stores/memory/memory-documents.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { SETTINGS } from '../lock/harness.js';
import { isEvent } from '../../support/events.js';

/** How far away the database is, there and back, ms. Its time is the clock's, which stands still while this process computes. */
const ROUND_TRIP = 100;
const INSTANCES = 20;

let clock: ManualClock;
let documents: MemoryDocuments;
let entries: MemoryEntries;

beforeEach(() => {
  clock = new ManualClock();
  documents = new MemoryDocuments(clock);
  entries = new MemoryEntries(clock);
});

const pass = (): Promise<void> => new Promise((resolve) => void clock.setTimer(resolve, ROUND_TRIP / 2));

/** A call takes effect half a round trip later, and is answered after the other half. */
const far =
  <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
  async (...args: Args): Promise<T> => {
    await pass();
    const answer = await call(...args);
    await pass();
    return answer;
  };

class FarStore extends DocumentLockStore {
  constructor() {
    const places: LockDocuments = {
      read: far((names) => documents.read(names)),
      write: far((changes) => documents.write(changes)),
      renew: far((renewals) => documents.renew(renewals)),
    };
    const beside: LockEntries = {
      put: far((all) => entries.put(all)),
      list: far((query) => entries.list(query)),
      sums: far((query) => entries.sums(query)),
      drop: far((seen) => entries.drop(seen)),
    };
    super(places, { clock, entries: beside });
  }
}

/** Ten round trips. What calls send at the end of a turn needs a turn without a timer. */
async function pass10(): Promise<void> {
  for (let i = 0; i < 10; i++) await clock.advance(ROUND_TRIP);
}

interface Instance {
  readonly runner: LockRunner;
  readonly events: SchedulerLockEvent[];
}

function instances(): Instance[] {
  return Array.from({ length: INSTANCES }, (_, i) => {
    const events: SchedulerLockEvent[] = [];
    const store = new FarStore();
    const emit = (event: SchedulerLockEvent): void => void events.push(event);
    return { runner: new LockRunner(store, `instance ${i}`, clock, emit, SETTINGS.storeTimeout), events };
  });
}

test('of a volley of waiting calls each one runs, without an outage, and after a release the next one within three round trips', async () => {
  const fleet = instances();
  const began: number[] = [];
  let running = 0;
  const job = async (): Promise<void> => {
    expect((running += 1)).toBe(1);
    began.push(clock.monotonic());
    await new Promise<void>((resolve) => void clock.setTimer(resolve, 10));
    running -= 1;
  };
  const results: RunResult<unknown>[] = [];
  const settings = { ...SETTINGS, wait: 600_000 };
  for (const { runner } of [...fleet, ...fleet])
    void runner
      .run({ name: 'lock', job: undefined, settings, kind: 'by-hand' }, job)
      .then((result) => results.push(result));
  for (let i = 0; results.length < 2 * INSTANCES && i < 600; i++) await clock.advance(100);
  expect(results.map(({ ran }) => ran)).toEqual(Array(2 * INSTANCES).fill(true));
  const events = fleet.flatMap((each) => each.events);
  expect(events.filter(isEvent('outage-started'))).toEqual([]);
  const start = clock.now() - clock.monotonic();
  const released = events
    .filter(({ type }) => type === 'released')
    .map(({ at }) => at - start)
    .sort((a, b) => a - b);
  const idle = began.slice(1).map((at, i) => at - (released[i] ?? 0));
  // The first release meets those who still enter: one look more.
  const [first = 0, ...others] = idle;
  expect(first).toBeLessThanOrEqual(4 * ROUND_TRIP);
  expect(Math.max(...others)).toBeLessThanOrEqual(3 * ROUND_TRIP);
});

test('a call whose wait ends during an ask is refused, and reports no outage', async () => {
  const [holder, waiter] = instances() as [Instance, Instance];
  const call = (name: string, wait?: number) => ({
    name,
    job: undefined,
    settings: wait === undefined ? SETTINGS : { ...SETTINGS, wait },
    kind: 'by-hand' as const,
  });
  let letGo!: () => void;
  const end = new Promise<void>((resolve) => (letGo = resolve));
  const waits = Array.from({ length: 60 }, (_, i) => 1 + 20 * i);
  const held = waits.map((wait) => holder.runner.run(call(`lock ${wait}`), () => end));
  await pass10();
  const began = clock.monotonic();
  const late: number[] = [];
  const results = waits.map(async (wait) => {
    const result = await waiter.runner.run(call(`lock ${wait}`, wait), () => undefined);
    late.push(clock.monotonic() - began - wait);
    return result;
  });
  for (let i = 0; i < 10; i++) await pass10();
  expect(late).toHaveLength(waits.length);
  letGo();
  await pass10();
  const reasons = (await Promise.all(results)).map((result) => !result.ran && result.reason);
  expect(reasons).toEqual(waits.map(() => 'held'));
  // Long before its ask would be given up, whatever the pauses between tries were.
  expect(Math.max(...late)).toBeLessThan(SETTINGS.storeTimeout);
  expect(waiter.events.filter(isEvent('outage-started'))).toEqual([]);
  await pass10();
  await Promise.all(held);
});

test('a caller that does not wait, and comes again and again, is not in the way of the call whose turn it is', async () => {
  const [holder, waiter, bare] = instances() as [Instance, Instance, Instance];
  const call = (wait?: number) => ({
    name: 'lock',
    job: undefined,
    settings: wait === undefined ? SETTINGS : { ...SETTINGS, wait },
    kind: 'by-hand' as const,
  });
  let letGo!: () => void;
  const held = holder.runner.run(call(), () => new Promise<void>((resolve) => (letGo = resolve)));
  await pass10();
  let hasCome = false;
  const waiting = waiter.runner.run(call(60_000), () => void (hasCome = true));
  await pass10();
  let spins = true;
  const spin = async (): Promise<void> => {
    while (spins) await bare.runner.run(call(), () => expect(hasCome).toBe(true));
  };
  const spinning = spin();
  letGo();
  for (let i = 0; !hasCome && i < 10; i++) await clock.advance(ROUND_TRIP);
  spins = false;
  expect(hasCome).toBe(true);
  for (let i = 0; i < 5; i++) await pass10();
  await Promise.all([held, waiting, spinning]);
});

test('of many calls with one key from many instances each one is queued, and a run begins after it', async () => {
  const stores = Array.from({ length: INSTANCES }, () => new FarStore());
  const call = (i: number) => ({ name: 'lock', id: randomUUID(), job: 'job', key: '', args: `[${i}]` });
  const limits = { priority: 0, max: 1_000, redeliver: 3 };
  const all = [...stores, ...stores, ...stores].map((store, i) =>
    store.queuedCalls
      .enqueue({ ...call(i), ...limits }, { limit: SETTINGS.storeTimeout })
      .then(({ queued }) => queued)
      .catch((error: unknown) => String(error)),
  );
  for (let i = 0; i < 5; i++) await pass10();
  expect(await Promise.all(all)).toEqual(Array(3 * INSTANCES).fill(true));
  expect(await entries.sums({ kinds: ['call'] })).toMatchObject([{ count: 1 }]);
});

test('a call that comes back before it has been taken out of line has its place again', async () => {
  const drops: (() => void)[] = [];
  const slow: LockEntries = {
    put: (all) => entries.put(all),
    list: (query) => entries.list(query),
    sums: (query) => entries.sums(query),
    drop: async (seen) => {
      await new Promise<void>((resolve) => drops.push(resolve));
      return entries.drop(seen);
    },
  };
  const store = new DocumentLockStore(documents, { clock, entries: slow });
  const lease = { name: 'lock', ttl: 600_000, holder: 'here' };
  const ask = (process: string, place?: number) => {
    const wait = { limit: 600_000, priority: 0, process, ...(place !== undefined && { place }) };
    return store.acquire({ ...lease, token: process, wait });
  };
  const release = async (token: string, asked: Promise<AcquireResult>): Promise<void> => {
    const { fencingToken } = (await asked) as { fencingToken: number };
    expect(await store.release({ ...lease, token, fencingToken })).toMatchObject({ released: true });
  };
  const first = store.acquire({ ...lease, token: 'first' });
  await first;
  const late = (await ask('late')) as AcquireRefusal;
  for (const process of ['living', 'third']) expect(await ask(process)).toMatchObject({ reason: 'held' });
  await release('first', first);
  // It does not come when it is called, and is passed over.
  await clock.advance(2_100);
  const living = ask('living');
  await living;
  expect(drops).toHaveLength(1);
  expect(await ask('late', late.waiting?.place)).toMatchObject({ reason: 'held' });
  drops[0]?.();
  await clock.advance(1);
  await release('living', living);
  expect(await ask('third')).toMatchObject({ reason: 'held' });
  expect(await ask('late')).toMatchObject({ acquired: true });
});

test('a call that has lost the race for a free lock stands before those that came while it raced', async () => {
  const ask = (process: string): Promise<AcquireResult> => {
    const wait = { limit: 600_000, priority: 0, process };
    return new FarStore().acquire({ name: 'lock', token: process, ttl: 600_000, holder: process, wait });
  };
  const [winner, loser] = [ask('winner'), ask('loser')];
  await clock.advance(ROUND_TRIP + 10);
  const later = ask('later');
  await pass10();
  expect(await winner).toMatchObject({ acquired: true });
  const placeOf = async (asked: Promise<AcquireResult>): Promise<number> =>
    ((await asked) as AcquireRefusal).waiting?.place ?? NaN;
  expect(await placeOf(loser)).toBeLessThan(await placeOf(later));
});

test('where no lines are kept, the mark of a line keeps nobody from a free lock', async () => {
  const lease = { name: 'lock', ttl: 10_000, holder: 'here' };
  const both = new DocumentLockStore(documents, { clock, entries });
  const held = await both.acquire({ ...lease, token: 'first' });
  const wait = { limit: 600_000, priority: 0, process: 'waiting' };
  expect(await both.acquire({ ...lease, token: 'waiting', wait })).toMatchObject({ reason: 'held' });
  const { fencingToken } = held as { fencingToken: number };
  await both.release({ ...lease, token: 'first', fencingToken });
  // Nobody comes whose turn it is.
  await clock.advance(3_000);
  const bare = new DocumentLockStore(documents, { clock });
  expect(await bare.acquire({ ...lease, token: 'second' })).toMatchObject({ acquired: true });
});

test('behind a full line of dead calls nobody overtakes those that live', async () => {
  const lease = { name: 'lock', ttl: 600_000, holder: 'here' };
  const store = new DocumentLockStore(documents, { clock, entries });
  const ask = (token: string, process = token): Promise<AcquireResult> =>
    store.acquire({ ...lease, token, wait: { limit: 600_000, priority: 0, process } });
  const { fencingToken } = (await store.acquire({ ...lease, token: 'first' })) as { fencingToken: number };
  const dead = Array.from({ length: 150 }, (_, n) => ask(`dead ${n}`, 'dead'));
  const living = ask('living');
  expect(await Promise.all([...dead, living])).not.toContainEqual(
    expect.objectContaining({ acquired: true }),
  );
  await store.release({ ...lease, token: 'first', fencingToken });
  // Nobody comes whose turn it is.
  await clock.advance(2_100);
  for (let tries = 0; ; tries++) {
    expect(tries).toBeLessThan(20);
    expect(await ask('later')).toMatchObject({ acquired: false });
    if ((await ask('living')).acquired) break;
    await clock.advance(500);
  }
});
