import { beforeEach, describe, expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../../lib/base/errors.js';
import type { Change } from '../../../../lib/contract/port.js';
import { MongoDocuments } from '../../../../lib/stores/mongo/mongo-documents.js';
import { driverError, FakeMongo } from './fake-mongo.js';

let mongo: FakeMongo;
let documents: MongoDocuments;

beforeEach(() => {
  mongo = new FakeMongo();
  documents = new MongoDocuments(() => mongo.db, 'locks');
});

const insert = (name: string): Change => ({
  name,
  seen: null,
  end: 5_000,
  begins: true,
  version: `of ${name}`,
  by: 'us',
  state: '',
});
const update = (name: string, fields: Partial<Change> = {}): Change => ({
  ...insert(name),
  seen: { version: 'before', by: 'them', taken: false },
  ...fields,
});
/** A batch of which some writes were not made, with these codes by their index. */
const batchError = (codes: Record<number, number>, matchedCount = 0, more: object = {}): Error =>
  driverError('MongoBulkWriteError', {
    code: Object.values(codes)[0],
    writeErrors: Object.entries(codes).map(([index, code]) => ({ index: Number(index), code })),
    matchedCount,
    result: { getWriteConcernError: () => undefined },
    ...more,
  });

const stored = (name: string, version: string, until = mongo.now + 5_000) => ({
  _id: name,
  version,
  lockedBy: 'us',
  lockUntil: new Date(until),
});

describe('a write that was not made', () => {
  test.each([
    ['because there is such a document', 11000],
    ['because of a write at the same time', 112],
    ['because Cosmos DB is asked too much', 16500],
  ])('%s is a refusal', async (_why, code) => {
    mongo.batches = [batchError({ 0: code }), driverError('MongoServerError', { code })];
    expect(await documents.write([insert('a')])).toEqual([false]);
    expect(await documents.write([insert('a')])).toEqual([false]);
    expect(mongo.words).toEqual(['hello', 'bulkWrite', 'hello', 'bulkWrite']);
  });

  test('is told from those of its batch that were made', async () => {
    mongo.batches = [batchError({ 1: 11000 }, 2)];
    const batch = [insert('a'), insert('b'), update('c'), update('d')];
    expect(await documents.write(batch)).toEqual([true, false, true, true]);
  });

  test('is found by its version where only a number is told', async () => {
    mongo.batches = [{ matchedCount: 1 }];
    mongo.stored = [stored('a', 'of another'), stored('b', 'of b')];
    expect(await documents.write([update('a'), update('b'), insert('c')])).toEqual([false, true, true]);
    expect(mongo.words).toEqual(['hello', 'bulkWrite', 'aggregate']);
  });

  test('is not told from one that was, where others have written both since', async () => {
    const seen = { version: 'before', by: 'us', taken: false };
    const batch = [update('a', { seen }), update('b', { seen })];
    mongo.batches = [{ matchedCount: 1 }, { matchedCount: 1 }];
    mongo.stored = [stored('a', 'of another'), stored('b', 'of another')];
    expect(await documents.write(batch)).toEqual([undefined, undefined]);
    // One is as it was, so the other one was made.
    mongo.stored = [stored('a', 'before'), stored('b', 'of another')];
    expect(await documents.write(batch)).toEqual([false, true]);
  });

  test('makes the outcome of its batch unknown if nobody tells which one it was', async () => {
    mongo.batches = [{ matchedCount: 1 }];
    mongo.commands = { aggregate: driverError('MongoNetworkError') };
    await expect(documents.write([update('a'), update('b')])).rejects.toMatchObject({ outcome: 'unknown' });
  });

  test('needs no second look if none was made', async () => {
    mongo.batches = [{ matchedCount: 0 }];
    expect(await documents.write([update('a'), update('b')])).toEqual([false, false]);
    expect(mongo.words).toEqual(['hello', 'bulkWrite']);
  });
});

describe('a write whose outcome is unknown', () => {
  const unknown: [what: string, error: () => Error][] = [
    ['a connection that broke', () => driverError('MongoNetworkError')],
    // The driver sends a write again: the first one may have been made.
    ['a second try that found no server', () => driverError('MongoServerSelectionError')],
    [
      'a write that no majority has confirmed',
      () => driverError('MongoBulkWriteError', { code: 64, result: {} }),
    ],
    ['one that has failed for another reason', () => batchError({ 0: 121 })],
    [
      'a refusal beside one that no majority has confirmed',
      () => batchError({ 0: 11000 }, 1, { result: { getWriteConcernError: () => ({}) } }),
    ],
  ];

  test.each(unknown)('counts as made if its version is there: %s', async (_what, error) => {
    mongo.batches = [error()];
    mongo.stored = [stored('a', 'of a'), stored('b', 'of b')];
    expect(await documents.write([insert('a'), update('b')])).toEqual([true, true]);
  });

  test.each(unknown)('stays unknown if it is not: it may still come: %s', async (_what, error) => {
    mongo.batches = [error()];
    mongo.stored = [stored('a', 'of a'), stored('b', 'before')];
    const failure: unknown = await documents.write([insert('a'), update('b')]).catch((e: unknown) => e);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(failure).toMatchObject({ outcome: 'unknown', refused: false });
  });

  test('stays unknown if nobody answers the look, either', async () => {
    mongo.batches = [driverError('MongoNetworkError', { message: 'it broke' })];
    mongo.commands = { aggregate: driverError('MongoServerSelectionError') };
    await expect(documents.write([insert('a')])).rejects.toMatchObject({
      outcome: 'unknown',
      message: 'MongoDB cannot be reached: it broke.',
    });
  });
});

describe('a call', () => {
  test.each([
    ['that found no server', driverError('MongoServerSelectionError'), 'cannot be reached', false],
    ['of a closed client', driverError('MongoNotConnectedError'), 'cannot be reached', false],
    [
      'of a server that is no primary',
      driverError('MongoServerError', { code: 10107 }),
      'did not carry out',
      false,
    ],
    ['without a right', driverError('MongoServerError', { code: 13 }), 'refused the call', true],
  ])('%s, before anything was written, has changed nothing', async (_what, error, message, refused) => {
    mongo.commands = { hello: error };
    await expect(documents.write([insert('a')])).rejects.toMatchObject({
      outcome: 'not-applied',
      refused,
      message: expect.stringContaining(message),
      cause: error,
    });
    expect(mongo.words).toEqual(['hello']);
  });

  test('that may write nothing has changed nothing', async () => {
    mongo.batches = [driverError('MongoServerError', { code: 13 })];
    await expect(documents.write([insert('a')])).rejects.toMatchObject({
      outcome: 'not-applied',
      refused: true,
    });
    expect(mongo.words).toEqual(['hello', 'bulkWrite']);
  });

  test('goes to the primary, waits for a majority, and belongs to no session', async () => {
    mongo.stored = [stored('a', 'of a')];
    await documents.read(['a']);
    await documents.write([update('a')]);
    await documents.renew([{ name: 'a', by: 'us', ttl: 1_000 }]);
    for (const { what, options } of mongo.sent) {
      expect(options).not.toHaveProperty('session');
      if (what === 'bulkWrite')
        expect(options).toMatchObject({ ordered: false, writeConcern: { w: 'majority', j: true } });
      else expect(options).toMatchObject({ readPreference: 'primary' });
      if (what === 'aggregate') expect(options).toMatchObject({ readConcern: { level: 'majority' } });
    }
    expect(mongo.words).toEqual(['aggregate', 'hello', 'bulkWrite', 'aggregate', 'bulkWrite']);
  });

  test('never shows a password', async () => {
    mongo.commands = {
      hello: driverError('MongoNetworkError', { message: 'mongodb://me:secret@host broke' }),
    };
    await expect(documents.read([])).rejects.toThrow(/^(?!.*secret)/);
  });
});

describe('a renewal', () => {
  const renewal = { name: 'a', by: 'us', ttl: 9_000 };

  test('is written over the end that was seen: one that arrives late shortens nothing', async () => {
    mongo.stored = [stored('a', 'of a')];
    expect(await documents.renew([renewal])).toEqual([true]);
    const statements = mongo.sent.at(-1)?.body as { updateOne: object }[];
    expect(statements[0]?.updateOne).toEqual({
      filter: { _id: 'a', lockedBy: 'us', lockUntil: new Date(mongo.now + 5_000) },
      update: { $set: { lockUntil: new Date(mongo.now + 9_000) } },
    });
  });

  test('whose outcome is unknown counts as made if its end is there', async () => {
    mongo.stored = [stored('a', 'of a')];
    mongo.batches = [driverError('MongoNetworkError'), driverError('MongoNetworkError')];
    await expect(documents.renew([renewal])).rejects.toMatchObject({ outcome: 'unknown' });
    mongo.stored = [stored('a', 'of a', mongo.now + 9_000)];
    expect(await documents.renew([renewal])).toEqual([true]);
  });

  test('of several of which one has changed is found by its end', async () => {
    mongo.stored = [stored('a', 'of a', mongo.now + 9_000), stored('b', 'of b')];
    mongo.batches = [{ matchedCount: 1 }];
    expect(await documents.renew([renewal, { ...renewal, name: 'b' }])).toEqual([true, false]);
  });
});

test('a change of a lease that goes on never brings its end forward', async () => {
  const seen = { version: 'before', by: 'us', taken: true };
  await documents.write([update('a', { seen }), update('b', { seen, end: -5_000, by: 'us/completed' })]);
  const statements = mongo.sent.at(-1)?.body as { updateOne: { update: object } }[];
  expect(statements.map((one) => Object.keys(one.updateOne.update))).toEqual([['$set', '$max'], ['$set']]);
});

test('documents of others are passed over, and fields that are missing or of another type are empty', async () => {
  mongo.stored = [
    { _id: 7 as never },
    { _id: 'a', lockUntil: 'tomorrow', lockedBy: 3 },
    { ...stored('b', 'v'), state: '{}' },
  ];
  const { documents: found } = await documents.read('all');
  expect(found).toEqual([
    { name: 'a', version: '', by: '', until: 0, since: 0, state: '' },
    { name: 'b', version: 'v', by: 'us', until: mongo.now + 5_000, since: 0, state: '{}' },
  ]);
});
