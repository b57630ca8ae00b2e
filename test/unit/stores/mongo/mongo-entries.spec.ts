import { beforeEach, describe, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../../lib/base/errors.js';
import type { NewEntry } from '../../../../lib/rules/entries/entries.js';
import { MongoEntries } from '../../../../lib/stores/mongo/mongo-entries.js';
import { driverError, FakeMongo, type Stored } from './fake-mongo.js';

let mongo: FakeMongo;
let entries: MongoEntries;

beforeEach(async () => {
  mongo = new FakeMongo();
  entries = new MongoEntries(() => mongo.db, 'locks_entries');
  await entries.init();
  mongo.sent.length = 0;
});

const entry = (id: string, fields: Partial<NewEntry> = {}): NewEntry => ({
  lock: 'job',
  id,
  version: 'v1',
  over: [null],
  kind: 'kind',
  keep: 5_000,
  body: '{}',
  ...fields,
});

const batchError = (codes: Record<number, number>, more: object = {}): Error =>
  driverError('MongoBulkWriteError', {
    code: Object.values(codes)[0],
    writeErrors: Object.entries(codes).map(([index, code]) => ({ index: Number(index), code })),
    matchedCount: 0,
    result: { getWriteConcernError: () => undefined },
    ...more,
  });

/** What a batch wrote. */
const writtenBy = (index: number): Stored[] => {
  const bodies = mongo.sent.filter(({ what }) => what === 'bulkWrite').map(({ body }) => body);
  type Update = { updateOne: { filter: { _id: string }; update: { $set: object } } };
  return (bodies[index] as Update[]).map(({ updateOne: { filter, update } }) => ({
    _id: filter._id,
    ...update.$set,
  }));
};

test.each([
  ['capped', { type: 'collection', options: { capped: true } }, /locks_entries is a capped collection/],
  ['a view', { type: 'view' }, /locks_entries is a view, which cannot keep locks/],
  [
    'one with a collation',
    { type: 'collection', options: { collation: { locale: 'en' } } },
    /locks_entries is a collection with the collation en/,
  ],
])('a collection that is %s keeps no entries, and says so', async (_what, found, problem) => {
  mongo.commands = { listCollections: { cursor: { firstBatch: [found] } } };
  const other = new MongoEntries(() => mongo.db, 'locks_entries');
  expect(await other.init()).toMatch(problem);
  await expect(other.put([entry('a')])).rejects.toThrow(problem);
  // Somebody has repaired it.
  mongo.commands = {};
  expect(await other.put([entry('a')])).toEqual([true]);
});

test('a list without bodies asks for none', async () => {
  await entries.list({ lock: 'job', bare: true });
  await entries.list({ lock: 'job' });
  const reads = mongo.sent.filter(({ what }) => what === 'aggregate');
  const fields = reads.map(({ body }) => (body as { $project?: object }[]).at(-1)?.$project);
  expect(fields).toEqual([
    expect.objectContaining({ body: { $literal: '' } }),
    expect.objectContaining({ body: 1 }),
  ]);
});

test('what is over is kept out by a condition that FerretDB 2 takes, too', async () => {
  // FerretDB 2 refuses an $expr that compares $$NOW with a field that has an index, as such, and takes one in a $not.
  const refusal = /"\$expr":\{"\$(?:gte?|lte?|eq|ne)":\[[^\]]*"\$\$NOW"/;
  mongo.answer = () => {
    if (refusal.test(JSON.stringify(mongo.sent.at(-1)?.body))) throw new Error('unsupported $$NOW');
    return [];
  };
  expect(await entries.list({ lock: 'job' })).toEqual({ now: mongo.now, entries: [] });
  expect(await entries.sums({})).toEqual([]);
});

describe('an entry that was not written', () => {
  test('because there is one is a refusal', async () => {
    mongo.batches = [batchError({ 0: 11000 }), driverError('MongoServerError', { code: 11000 })];
    for (let i = 0; i < 2; i++) expect(await entries.put([entry('a')])).toEqual([false]);
    expect(mongo.words).toEqual(['hello', 'bulkWrite', 'hello', 'bulkWrite']);
  });

  test('because what it may be written over was made at that moment is written over that', async () => {
    mongo.batches = [batchError({ 0: 11000 })];
    expect(await entries.put([entry('a', { over: [null, 'interrupted'] })])).toEqual([true]);
    mongo.batches = [batchError({ 0: 11000 }), batchError({ 0: 11000 })];
    expect(await entries.put([entry('a', { over: [null, 'interrupted'] })])).toEqual([false]);
  });

  test.each([
    ['of a write at the same time', 112],
    ['Cosmos DB is asked too much', 16500],
  ])('because %s is no refusal: nobody knows what is there', async (_why, code) => {
    mongo.batches = [batchError({ 0: code }), driverError('MongoServerError', { code })];
    for (let i = 0; i < 2; i++)
      await expect(entries.put([entry('a')])).rejects.toThrow(StoreUnavailableError);
  });

  test('is told from those of its batch that were, by a read of who wrote what is there', async () => {
    mongo.batches = [batchError({ 1: 11000 }, { upsertedCount: 1 })];
    // Another writer has made the second one.
    mongo.answer = () => {
      const [first, second] = writtenBy(0);
      return [first!, { ...second!, write: 'another' }];
    };
    const answers = await entries.put(['a', 'b', 'c'].map((id) => entry(id)));
    expect(answers).toEqual([true, false, false]);
  });
});

describe('an entry whose slot is taken', () => {
  const refused = (): Error => batchError({ 0: 11000 });

  test('is written over one that is over, which MongoDB has not deleted yet', async () => {
    mongo.batches = [refused(), { matchedCount: 0, deletedCount: 1 }];
    expect(await entries.put([entry('a', { slot: 'one' })])).toEqual([true]);
    expect(mongo.words).toEqual(['hello', 'bulkWrite', 'bulkWrite', 'bulkWrite']);
    const slot = { $in: ['["job","one"]'] };
    expect(mongo.sent[2]?.body).toEqual([
      { deleteMany: { filter: { slot, expiresAt: { $lte: new Date(mongo.now) } } } },
    ]);
  });

  test('is refused if nothing in it is over', async () => {
    mongo.batches = [refused(), { matchedCount: 0, deletedCount: 0 }];
    expect(await entries.put([entry('a', { slot: 'one' })])).toEqual([false]);
    expect(mongo.words).toEqual(['hello', 'bulkWrite', 'bulkWrite']);
  });
});

describe('an entry without an answer', () => {
  const cut = (): Error => driverError('MongoNetworkError', { message: 'connection closed' });

  test('was written if it is there', async () => {
    mongo.batches = [cut()];
    mongo.answer = () => writtenBy(0);
    expect(await entries.put([entry('a')])).toEqual([true]);
  });

  test('may still be written if it is not there: nobody knows', async () => {
    mongo.batches = [cut()];
    const failure: unknown = await entries.put([entry('a')]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(failure).toMatchObject({
      outcome: 'unknown',
      message: expect.stringContaining('connection closed'),
    });
  });

  test('is unknown, too, where the read after it fails', async () => {
    mongo.batches = [cut()];
    mongo.commands = { aggregate: cut() };
    await expect(entries.put([entry('a')])).rejects.toMatchObject({ outcome: 'unknown' });
  });

  test('was not written if the user may not write', async () => {
    mongo.batches = [driverError('MongoServerError', { code: 13, message: 'not authorized' })];
    await expect(entries.put([entry('a')])).rejects.toMatchObject({ outcome: 'not-applied', refused: true });
    expect(mongo.words).toEqual(['hello', 'bulkWrite']);
  });
});

describe('the collection', () => {
  const indexes = () => mongo.sent.filter(({ what }) => what === 'createIndexes');

  test('has an index by which MongoDB deletes what is over, made with a majority', async () => {
    await entries.init();
    expect(indexes()).toMatchObject([
      {
        body: {
          createIndexes: 'locks_entries',
          indexes: [
            { key: { lock: 1, kind: 1, place: 1 } },
            { key: { slot: 1 }, unique: true, sparse: true },
            {
              key: { job: 1, lock: 1, place: 1 },
              partialFilterExpression: { job: { $exists: true } },
            },
            { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
          ],
          writeConcern: { w: 'majority', j: true },
        },
      },
    ]);
    await entries.put([entry('a')]);
    expect(indexes()).toHaveLength(1);
  });

  test('is made with the first entry if MongoDB was away at the start', async () => {
    entries = new MongoEntries(() => mongo.db, 'locks_entries');
    mongo.commands = { createIndexes: driverError('MongoServerSelectionError') };
    await expect(entries.init()).rejects.toThrow(StoreUnavailableError);
    await expect(entries.put([entry('a')])).rejects.toThrow(StoreUnavailableError);
    mongo.commands = {};
    expect(await entries.put([entry('a')])).toEqual([true]);
    expect(await entries.put([entry('b')])).toEqual([true]);
    expect(indexes()).toHaveLength(3);
  });

  test.each([
    [
      13,
      'not authorized',
      'Grant the user find, insert, update, remove and createIndex on the collection locks_entries.',
    ],
    [86, 'an index differs', 'Rename or drop the collection locks_entries.'],
    [166, 'it is a view', 'Rename or drop the collection locks_entries.'],
  ])(
    'that cannot be had (%s) is named, with the remedy, at the start or as soon as MongoDB is there',
    async (code, message, remedy) => {
      entries = new MongoEntries(() => mongo.db, 'locks_entries');
      const late = new MongoEntries(() => mongo.db, 'locks_entries');
      mongo.commands = { createIndexes: driverError('MongoServerError', { code, message }) };
      const problem = `MongoDB refused: ${message}. ${remedy}`;
      expect(await entries.init()).toBe(problem);
      for (const each of [entries, late, late])
        await expect(each.put([entry('a')])).rejects.toMatchObject({ message: problem, refused: true });
      expect(indexes()).toHaveLength(2);
    },
  );
});

test('of two entries in one millisecond the later one stands behind', async () => {
  await entries.put([entry('a'), entry('b')]);
  await entries.put([entry('c')]);
  const places = [...writtenBy(0), ...writtenBy(1)].map(({ place }) => place);
  expect(places).toEqual([mongo.now * 1_000, mongo.now * 1_000 + 1, mongo.now * 1_000 + 2]);
});
