import { afterAll, beforeAll, describe, jest, test } from '@jest/globals';
import type { MongoClient } from 'mongodb';
import { MongoClient as MongoClient6 } from 'mongodb6';
import { describeLockStore } from './cases/contract.js';
import { describeLockDocuments, describeLockEntries } from '../../lib/testing/port/port-contract.js';
import type { DatabaseServer } from '../support/database-server.js';
import { isThereMongo, provideMongo, testMongo } from '../support/mongo-server.js';
import { whatDiffers } from './support/database-subject.js';
import { mongoContract, mongoEntriesContract, mongoPortContract } from './support/mongo-subject.js';

jest.setTimeout(120_000);

let server: DatabaseServer;
let clients: MongoClient[] = [];
let clients6: MongoClient6[] = [];

beforeAll(async () => {
  server = await provideMongo();
  clients = [1, 2].map(() => testMongo(server.url));
  clients6 = [1, 2].map(() => new MongoClient6(server.url));
}, 240_000);

afterAll(async () => {
  await Promise.all([...clients, ...clients6].map((client) => client.close()));
  await server?.stop();
});

if (await isThereMongo('the contracts of MongoDocuments and MongoLockStore')) {
  describeLockDocuments(
    'the documents of MongoLockStore',
    mongoPortContract(() => clients),
    { describe, test },
  );
  describeLockEntries(
    'the entries of MongoLockStore',
    mongoEntriesContract(() => clients),
    { describe, test },
  );
  describeLockStore(
    'MongoLockStore',
    mongoContract(() => clients),
    { describe, test },
  );
  describe('with the driver 6', () => {
    describeLockStore(
      'MongoLockStore',
      mongoContract(() => clients6 as unknown as MongoClient[]),
      { describe, test: whatDiffers(test) },
    );
    describeLockEntries(
      'the entries of MongoLockStore',
      mongoEntriesContract(() => clients6 as unknown as MongoClient[]),
      { describe, test },
    );
  });
} else test.todo('the contracts, on a MongoDB or its stand-in');
