import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { MongoClient as MongoClient6 } from 'mongodb6';
import mongoose from 'mongoose';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../../../lib/base/errors.js';
import { MongoLockStore } from '../../../../lib/stores/mongo/index.js';
import { MysqlLockStore } from '../../../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../../../lib/stores/postgres/index.js';
import { driverError, FakeMongo } from './fake-mongo.js';

const nowhere = 'mongodb://127.0.0.1:1/app';
const clients = [new MongoClient(nowhere), new MongoClient6(nowhere)] as const;
const connection = mongoose.createConnection();

afterAll(() => Promise.all([...clients.map((client) => client.close()), connection.close()]));

describe('what a store is given', () => {
  test.each([
    ['a client', clients[0]],
    ['a client of the driver 6', clients[1]],
    ['a database', clients[0].db('other')],
    ['a connection of Mongoose', connection],
  ])('%s is taken', (_what, given) => {
    expect(() => new MongoLockStore(given)).not.toThrow();
  });

  test.each([
    ['nothing', undefined, /It got undefined/],
    ['a URL', 'mongodb://me:secret@host', /needs .*new MongoClient\(url\).* It got a text/],
    ['options', {}, /got a plain object/],
    ['a promise', Promise.resolve(), /got a promise\. Await it/],
    ['Mongoose itself', mongoose, /got a Mongoose\. Give its connection: mongoose\.connection/],
    ['a collection', clients[0].db().collection('a'), /got a collection\. Give its database, and its name/],
    ['a class', MongoClient, /got a class, not an object of it/],
  ])('%s is refused by a message that says what to give', (_what, given, message) => {
    const make = () => new MongoLockStore(given as never);
    expect(make).toThrow(SchedulerLockConfigError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/secret/);
  });

  test.each([PostgresLockStore, MysqlLockStore])(
    'by mistake, a store of SQL names MongoLockStore (%p)',
    (Store) => {
      for (const given of [clients[0], clients[0].db(), connection])
        expect(() => new Store(given as never)).toThrow(
          /It is for MongoLockStore of nestjs-scheduler-lock\/mongo/,
        );
    },
  );

  test.each(['', 'a$b', 'system.locks', 'a\0', 7])('the name %p of a collection is refused', (collection) => {
    expect(() => new MongoLockStore(clients[0], { collection: collection as string })).toThrow(
      /collection: .* is no name of a collection/,
    );
  });

  test('the log names database and collection, once they are known', () => {
    expect(new MongoLockStore(clients[0]).label).toBe('the collection app.shedLock of MongoDB');
    expect(new MongoLockStore(connection, { collection: 'locks' }).label).toBe(
      'the collection locks of MongoDB',
    );
  });

  test('a connection of Mongoose that is not open yet is a store that is away', async () => {
    const failure: unknown = await new MongoLockStore(connection).init().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(failure).toMatchObject({
      outcome: 'not-applied',
      message: expect.stringContaining('not open yet'),
    });
  });
});

test.each([
  ['MongoClientClosedError', 'Operation interrupted because client was closed'],
  ['MongoNotConnectedError', 'Client must be connected before running operations'],
  ['MongoTopologyClosedError', 'Topology is closed'],
  ['MongoPoolClosedError', 'Attempted to check out a connection from closed connection pool'],
  ['MongoExpiredSessionError', 'Cannot use a session that has ended'],
])('a client that was closed too early (%s) is told with what to do', async (name, message) => {
  const closed = (): Promise<never> => Promise.reject(Object.assign(new Error(message), { name }));
  const collection = () => ({ aggregate: () => ({ toArray: closed }), bulkWrite: closed });
  const store = new MongoLockStore({ databaseName: 'app', command: closed, collection });
  await expect(store.acquire({ name: 'job', token: 'token', ttl: 1_000, holder: 'host' })).rejects.toThrow(
    'close the client after the application, and make a new store for a new client',
  );
});

describe('at its start a store', () => {
  const VERSION = { version: '7.0.1' };
  let mongo: FakeMongo;

  beforeEach(() => {
    mongo = new FakeMongo();
    mongo.commands = { buildInfo: VERSION, hello: { setName: 'rs0' } };
  });

  const started = async (): Promise<MongoLockStore> => {
    const store = new MongoLockStore(mongo.db);
    await store.init();
    return store;
  };
  const collection = (info: object): object => ({ listCollections: { cursor: { firstBatch: [info] } } });

  test('has nothing to say of a collection that it made', async () => {
    mongo.commands = { ...mongo.commands, ...collection({ type: 'collection', options: {} }) };
    await expect(started()).resolves.toBeInstanceOf(MongoLockStore);
  });

  test.each<[what: string, commands: object, message: RegExp]>([
    [
      'FerretDB 1',
      { buildInfo: { ...VERSION, ferretdbVersion: 'v1.24.0' } },
      /is FerretDB v1\.24\.0, .*FerretDB 2/,
    ],
    ['MongoDB 4.4', { buildInfo: { version: '4.4.29' } }, /is MongoDB 4\.4\.29, .* Use MongoDB 5 or newer/],
    ['a view', collection({ type: 'view' }), /shedLock is a view, .*another `collection`/],
    ['a time series', collection({ type: 'timeseries' }), /shedLock is a timeseries/],
    [
      'a capped collection',
      collection({ type: 'collection', options: { capped: true } }),
      /is a capped collection/,
    ],
    [
      'a collection that takes two names for one',
      collection({ type: 'collection', options: { collation: { locale: 'en' } } }),
      /with the collation en/,
    ],
    [
      'wrong credentials',
      { hello: driverError('MongoServerError', { code: 18, message: 'Authentication failed.' }) },
      /MongoDB refused: Authentication failed\. Check the credentials/,
    ],
    [
      'a user without rights',
      { aggregate: driverError('MongoServerError', { code: 13, message: 'not authorized on app' }) },
      /refused: not authorized on app\. .*find, insert and update on app\.shedLock/,
    ],
  ])('refuses %s', async (_what, commands, message) => {
    mongo.commands = { ...mongo.commands, ...commands };
    await expect(started()).rejects.toThrow(SchedulerLockConfigError);
    await expect(started()).rejects.toThrow(message);
  });

  test('takes FerretDB 2, and a user who may not list collections', async () => {
    const listCollections = driverError('MongoServerError', { code: 13 });
    mongo.commands = {
      ...mongo.commands,
      listCollections,
      buildInfo: { ...VERSION, ferretdbVersion: 'v2.5.0' },
    };
    await started();
  });

  test('starts although there is no server, as one that is away', async () => {
    mongo.commands = { hello: driverError('MongoServerSelectionError', { message: 'connect ECONNREFUSED' }) };
    await expect(started()).rejects.toThrow(StoreUnavailableError);
    await expect(started()).rejects.toThrow('MongoDB cannot be reached: connect ECONNREFUSED.');
  });
});
