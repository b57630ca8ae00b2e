import { beforeEach, expect, test } from '@jest/globals';
import { MongoHints } from '../../../../lib/stores/mongo/mongo-hints.js';
import { MongoLockStore } from '../../../../lib/stores/mongo/index.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { until } from '../../../support/until.js';
import { driverError, FakeMongo } from './fake-mongo.js';

let clock: ManualClock;
let mongo: FakeMongo;
let hints: MongoHints;

beforeEach(() => {
  clock = new ManualClock();
  mongo = new FakeMongo();
  mongo.commands = { hello: { operationTime: 'a time of the log' } };
  hints = new MongoHints(
    () => mongo.db,
    'locks_entries',
    async () => undefined,
    clock,
  );
  hints.areThere = true;
});

function listen(heard: string[] = []) {
  const channel = hints.listen('two', (token) => heard.push(token));
  if (channel === undefined) throw new Error('no channel');
  return channel;
}

test('a process hears what is for it and what is for all, from the moment at which it asked', async () => {
  const heard: string[] = [];
  const channel = listen(heard);
  await clock.advance(0);
  expect(channel.open).toBe(true);
  const [{ body, options } = {}] = mongo.sent.filter(({ what }) => what === 'watch');
  expect(body).toEqual([{ $match: { operationType: 'insert', 'fullDocument.hint': { $in: ['two', ''] } } }]);
  expect(options).toEqual({ readPreference: 'primary', startAtOperationTime: 'a time of the log' });
  await hints.send('two', 'token');
  await hints.announce('queued');
  expect(heard).toEqual(['token', 'queued']);
  channel.close();
  await clock.advance(0);
  expect([channel.open, clock.pending, mongo.streams.map(({ isClosed }) => isClosed)]).toEqual([
    false,
    0,
    [true],
  ]);
});

test('a hint is deleted after a while: it is no entry of a lock', async () => {
  await hints.send('two', 'token');
  const [{ body } = {}] = mongo.sent.filter(({ what }) => what === 'bulkWrite');
  const [{ insertOne: { document } } = { insertOne: { document: {} } }] = body as [
    { insertOne: { document: object } },
  ];
  expect(document).toEqual({
    _id: expect.any(String),
    hint: 'two',
    text: 'token',
    expiresAt: new Date(clock.now() + 60_000),
  });
});

test('where nothing else is kept, a process that listens makes the index that deletes hints', async () => {
  const version = { buildInfo: { version: '7.0.0' } };
  mongo.commands = { ...version, hello: { setName: 'rs0', operationTime: 'a time' } };
  const store = new MongoLockStore(mongo.db);
  await store.init();
  const channel = store.hints('two', () => undefined);
  await until(() => mongo.words.includes('bulkWrite'));
  channel?.close();
  expect(mongo.words.slice(0, mongo.words.indexOf('bulkWrite'))).toContain('createIndexes');
});

test('a stream that ends is opened again', async () => {
  const channel = listen();
  await clock.advance(0);
  mongo.streams[0]?.emit('error', new Error('the primary has gone'));
  expect(channel.open).toBe(false);
  await clock.advance(1_000);
  await clock.advance(0);
  expect([channel.open, mongo.streams.length]).toEqual([true, 2]);
  channel.close();
});

test('without the right to a stream the channel says what to grant; without one to write, too', async () => {
  mongo.isDeaf = true;
  const deaf = listen();
  await clock.advance(0);
  await clock.advance(2_000);
  expect(deaf.problem).toMatch(/does not arrive .* Grant the user changeStream and find/);
  deaf.close();
  mongo.commands = { hello: driverError('MongoServerError', { code: 13, message: 'not authorized' }) };
  const refused = listen();
  for (let second = 0; second < 15; second++) await clock.advance(1_000);
  expect(refused.problem).toMatch(/refused a change stream: not authorized\. Grant the user changeStream/);
  refused.close();
});

test('a hint that cannot be sent is lost, and nothing else', async () => {
  mongo.batches = [driverError('MongoNetworkError')];
  await hints.send('two', 'token');
});

test('a server that is no replica set has no hints: nobody listens, and nobody sends', async () => {
  const version = { buildInfo: { version: '7.0.0' } };
  mongo.commands = { ...version, hello: { localTime: new Date(0) } };
  const alone = new MongoLockStore(mongo.db);
  await alone.init();
  expect(alone.hints('two', () => undefined)).toBeUndefined();
  await alone.queuedCalls.announce?.();
  expect(mongo.words).not.toContain('bulkWrite');
  mongo.commands = { ...version, hello: { setName: 'rs0', operationTime: 'a time' } };
  const replicated = new MongoLockStore(mongo.db);
  await replicated.init();
  const channel = replicated.hints('two', () => undefined);
  expect(channel).toBeDefined();
  channel?.close();
});
