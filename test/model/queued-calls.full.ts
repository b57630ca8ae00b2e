import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { assert, asyncProperty } from 'fast-check';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock.store.js';
import { brokenStores } from '../contract/support/broken-stores.js';
import { ReferenceStore } from '../contract/support/reference-store.js';
import { DATABASES } from '../support/database.js';
import { isThereMongo } from '../support/mongo-server.js';
import { parameters } from './support/parameters.js';
import { QueuePlay } from './support/queue-play.js';
import { queueSteps } from './support/queue-steps.js';
import {
  databaseSubject,
  farSubject,
  manualSubject,
  mongoSubject,
  redisSubject,
  type ServedSubject,
  type StoreSubject,
} from './support/store-subjects.js';

/** Tries a store against the model of one lock, its holders, its line and its queued calls. */
function agreesWithModel(make: () => StoreSubject, numRuns: number, inspects = true): Promise<void> {
  return assert(
    asyncProperty(queueSteps, async (steps) => {
      const play = new QueuePlay(make(), inspects);
      for (const step of steps) await play.step(step);
    }),
    parameters(numRuns),
  );
}

test('the memory store answers as the model of queued calls', async () => {
  await agreesWithModel(() => manualSubject((clock) => new MemoryLockStore({ clock })), 3_000);
});

test('a store of documents and entries answers as the model of queued calls, with three instances', async () => {
  await agreesWithModel(farSubject, 1_000);
});

test('a correct store answers as the model of queued calls', async () => {
  await agreesWithModel(() => manualSubject((clock) => new ReferenceStore(clock)), 3_000, false);
});

describe('the model finds out about a store that breaks', () => {
  // The model knows no processes that hear hints, nor calls in line that run queued calls, and queues no hundred calls.
  const beyond = ['announce()', 'behind many', 'nobody in line runs them', 'those in line only wait'];
  const within = brokenStores.filter(
    ({ caught }) => caught.startsWith('rule 15') && !beyond.some((what) => caught.includes(what)),
  );

  test.each(within.map((broken) => [broken.caught, broken] as const))('%s', async (_, { make }) => {
    await expect(agreesWithModel(() => manualSubject(make), 10_000, false)).rejects.toThrow(
      /Property failed/,
    );
  });
});

/** With how often each is tried: a command takes longer in a database. */
const SERVED: readonly (readonly [name: string, runs: number, serve: () => Promise<ServedSubject>])[] = [
  ['Redis', 150, redisSubject],
  ...DATABASES.map((database): [string, number, () => Promise<ServedSubject>] => [
    database.name,
    60,
    () => databaseSubject(database),
  ]),
  ...((await isThereMongo('the model of queued calls on MongoDB'))
    ? [['MongoDB', 60, mongoSubject] as const]
    : []),
];

describe.each(SERVED)('the %s store', (_name, runs, serve) => {
  let subject: ServedSubject;

  beforeAll(async () => {
    subject = await serve();
    for (const { queuedCalls } of subject.stores) await queuedCalls?.init?.();
  }, 60_000);

  afterAll(() => subject?.close());

  test('answers as the model of queued calls', async () => {
    await agreesWithModel(() => subject, runs);
  });
});
