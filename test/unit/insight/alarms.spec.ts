import { beforeEach, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { Alarms } from '../../../lib/insight/alarms.js';
import type { SeenJob } from '../../../lib/insight/seen-job.js';
import type { WatchedJob } from '../../../lib/insight/watched-job.js';
import type { HistoryStore } from '../../../lib/contract/history-store.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

/* Two instances that have noted one missed tick: the one that marks it first tells of it, and nobody a second time. */

const TICK = Date.UTC(2026, 0, 1);
const JOB = { job: 'report', lock: 'report-lock' } as WatchedJob;
const KEPT = { count: 100, age: 86_400_000 };
const WHY = { reason: 'not-fired', count: 1 };

/** What happens to a call on its way: `lost` has been done, and its answer does not come; `unsent` has certainly not been done. */
type Way = 'fine' | 'away' | 'lost' | 'unsent' | 'refused';

let store: MemoryLockStore;
let told: { by: string; missedBy: string[] }[];

class Instance {
  readonly clock = new ManualClock(TICK);
  /** By the name of a method of histories. */
  readonly ways: { entries: Way; told: Way } = { entries: 'fine', told: 'fine' };
  readonly alarms: Alarms;

  constructor(name: string) {
    const emit = (event: SchedulerLockEvent): void => {
      if (event.type === 'overdue')
        told.push({ by: name, missedBy: event.reasons.map(({ missedBy }) => missedBy) });
    };
    const watcher = {
      instance: name,
      kept: KEPT,
      emit,
      idleReason: () => undefined,
      clockOffset: () => 0,
      runs: () => [],
      wentWrong: () => undefined,
    };
    this.alarms = new Alarms(this.#history(), this.clock, watcher);
  }

  /** Notes that nobody has started the tick. */
  async notes(): Promise<void> {
    const state = { job: JOB, skips: { ...WHY, tick: TICK } } as SeenJob;
    expect(await this.alarms.missed(state, TICK)).toBeUndefined();
  }

  cut(way: Way): void {
    this.ways.entries = this.ways.told = way;
  }

  #history(): HistoryStore {
    const send = async <T>(method: 'entries' | 'told', call: () => Promise<T>): Promise<T> => {
      const way = this.ways[method];
      const refused = way === 'refused';
      if (way === 'lost') await call();
      if (way === 'fine') return call();
      throw new StoreUnavailableError(way, {
        outcome: way === 'unsent' ? 'not-applied' : 'unknown',
        refused,
      });
    };
    return {
      ...store.history,
      entries: (query) => send('entries', () => store.history.entries(query)),
      miss: (miss) => store.history.miss(miss),
      told: (alarm) => send('told', () => store.history.told(alarm)),
    };
  }
}

let first: Instance;
let second: Instance;

/** Time passes for both. */
async function pass(milliseconds: number): Promise<void> {
  for (let passed = 0; passed < milliseconds; passed += 250) {
    await first.clock.advance(250);
    await second.clock.advance(250);
  }
}

beforeEach(async () => {
  store = new MemoryLockStore();
  told = [];
  [first, second] = [new Instance('a'), new Instance('b')];
  await first.notes();
  await second.notes();
});

test('one of those that noted a miss tells of it, with the reasons of all, and nobody else', async () => {
  await pass(60_000);
  expect(told.map(({ missedBy }) => missedBy.toSorted())).toEqual([['a', 'b']]);
  expect([first.clock.pending, second.clock.pending]).toEqual([0, 0]);
});

test('if one dies, another tells', async () => {
  await second.clock.advance(60_000);
  expect(told).toMatchObject([{ by: 'b' }]);
});

test('an instance that was frozen does not tell what another has told meanwhile', async () => {
  await second.clock.advance(30_000);
  expect(told).toMatchObject([{ by: 'b' }]);
  first.clock.block(30_000);
  await pass(60_000);
  expect(told).toHaveLength(1);
});

test('one without the store tells when it is back, unless another has told', async () => {
  first.cut('away');
  await pass(60_000);
  expect(told).toMatchObject([{ by: 'b' }]);
  first.cut('fine');
  await pass(60_000);
  expect(told).toHaveLength(1);
});

test('a miss is told though the store was away for both', async () => {
  first.cut('away');
  second.cut('away');
  await pass(300_000);
  expect(told).toEqual([]);
  first.cut('fine');
  second.cut('fine');
  await pass(60_000);
  expect(told).toHaveLength(1);
});

test('a miss is told if the answer to the mark was lost: nobody else may know that it was the first', async () => {
  first.ways.told = 'lost';
  await first.clock.advance(15_000);
  expect(told).toMatchObject([{ by: 'a' }]);
  await pass(60_000);
  expect(told).toHaveLength(1);
});

test('an instance that notes a miss by two ways at once tells of it once, also if the answer to its mark is lost', async () => {
  const third = new Instance('c');
  third.cut('lost');
  third.ways.entries = 'fine';
  const skips = { ...WHY, tick: TICK };
  const state = { job: JOB, skips } as SeenJob;
  await Promise.all([third.alarms.missed(state, TICK), third.alarms.missed(state, TICK, skips)]);
  await third.clock.advance(60_000);
  expect(told).toMatchObject([{ by: 'c' }]);
});

test('a store that refuses to tell the reasons of others keeps nobody from telling', async () => {
  first.ways.entries = second.ways.entries = 'refused';
  await pass(60_000);
  expect(told).toEqual([{ by: 'a', missedBy: ['a'] }]);
  expect([first.clock.pending, second.clock.pending]).toEqual([0, 0]);
});

test('who shuts down leaves the miss to the others, and to the next one that starts', async () => {
  first.alarms.stop();
  second.alarms.stop();
  await pass(60_000);
  expect(told).toEqual([]);
  const next = new Instance('c');
  await next.notes();
  await next.clock.advance(60_000);
  expect(told.map(({ missedBy }) => missedBy.toSorted())).toEqual([['a', 'b', 'c']]);
});

test('a mark that was certainly not made is none: another one tells, and only that one', async () => {
  second.ways.told = 'unsent';
  await second.clock.advance(15_000);
  second.ways.told = 'fine';
  await pass(60_000);
  expect(told).toMatchObject([{ by: 'a' }]);
  expect(told).toHaveLength(1);
});
