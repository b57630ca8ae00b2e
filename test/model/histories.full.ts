import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock.store.js';
import { brokenStores } from '../contract/support/broken-stores.js';
import { ReferenceStore } from '../contract/support/reference-store.js';
import { DATABASES } from '../support/database.js';
import { isThereMongo } from '../support/mongo-server.js';
import { HistoryPlay } from './support/history-play.js';
import { type HistoryStep, historySteps, TTL } from './support/history-steps.js';
import { parameters } from './support/parameters.js';
import {
  databaseSubject,
  manualSubject,
  mongoSubject,
  redisSubject,
  type ServedSubject,
  type StoreSubject,
} from './support/store-subjects.js';

const STEP: Omit<HistoryStep, 'what'> = {
  store: 0,
  job: 'nightly',
  pick: 0,
  tick: undefined,
  outcome: 'completed',
  recorded: false,
  flag: false,
  again: false,
  ms: 0,
};

/** Tries a store against the model of what it remembers: runs, missed ticks, and instances. */
function agreesWithModel(make: () => StoreSubject, numRuns: number): Promise<void> {
  return assert(
    asyncProperty(historySteps, async (steps) => {
      const play = new HistoryPlay(make());
      for (const step of steps) await play.step(step);
      await play.end();
    }),
    parameters(numRuns),
  );
}

test('the memory store answers as the model of histories', async () => {
  await agreesWithModel(() => manualSubject((clock) => new MemoryLockStore({ clock }), TTL), 1_500);
});

test('a correct store answers as the model of histories', async () => {
  await agreesWithModel(() => manualSubject((clock) => new ReferenceStore(clock), TTL), 1_500);
});

test('the time that ends leases passes for instances, too', async () => {
  const play = new HistoryPlay(manualSubject((clock) => new MemoryLockStore({ clock }), TTL));
  const step = (what: HistoryStep['what']): Promise<void> => play.step({ ...STEP, what });
  await step('beat');
  for (let lease = 0; lease < 12; lease += 1) for (const what of ['begin', 'die'] as const) await step(what);
  await step('instances');
});

describe('the model finds out about a store that breaks', () => {
  /** What it knows nothing of: races, intervals, inspect, queued calls, names that fold, clocks of instances. */
  const beyond =
    /^rule 9|exactly one|interval|queued call|`next`|stay apart|unless the request asks|whatever their own clocks/;
  const within = brokenStores.filter(({ caught }) => /^rule 1[678]/.test(caught) && !beyond.test(caught));

  test.each(within.map((broken) => [broken.caught, broken] as const))('%s', async (_, { make }) => {
    await expect(agreesWithModel(() => manualSubject(make, TTL), 10_000)).rejects.toThrow(/Property failed/);
  });
});

/** With how often each is tried: a command takes longer in a database. */
const SERVED: readonly [name: string, runs: number, serve: () => Promise<ServedSubject>][] = [
  ['Redis', 100, redisSubject],
  ...DATABASES.map((database): [string, number, () => Promise<ServedSubject>] => [
    database.name,
    40,
    () => databaseSubject(database),
  ]),
  ...((await isThereMongo('the model of histories on MongoDB'))
    ? [['MongoDB', 40, mongoSubject] satisfies [string, number, () => Promise<ServedSubject>]]
    : []),
];

describe.each(SERVED)('the %s store', (_name, runs, serve) => {
  let subject: ServedSubject;

  beforeAll(async () => {
    subject = await serve();
    for (const { history } of subject.stores) await history?.init?.();
  }, 60_000);

  afterAll(() => subject?.close());

  test('answers as the model of histories', async () => {
    await agreesWithModel(() => subject, runs);
  });
});
