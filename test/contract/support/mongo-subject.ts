import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Document, MongoClient } from 'mongodb';
import { MongoDocuments } from '../../../lib/stores/mongo/mongo-documents.js';
import { MongoEntries } from '../../../lib/stores/mongo/mongo-entries.js';
import { MongoLockStore } from '../../../lib/stores/mongo/index.js';
import type { LockStoreContractOptions } from '../cases/options.js';
import type {
  LockDocumentsContractOptions,
  LockEntriesContractOptions,
} from '../../../lib/testing/port/port-options.js';
import { uniqueTable } from '../../support/database-server.js';

/** As the driver has it, of documents whose `_id` is a text. */
export const locksOf = (db: Db, name: string) => db.collection<Document & { _id: string }>(name);

const now = Date.now.bind(Date);
const skewInstanceClock = (ms: number): void => {
  Date.now = ms === 0 ? now : () => now() + ms;
};

/** The contract of places, on two clients. */
export function mongoPortContract(clients: () => readonly MongoClient[]): LockDocumentsContractOptions {
  const name = uniqueTable('port');
  const db = (): Db => clients()[0]!.db();
  return {
    create: () => {
      const [documents, ...others] = clients().map((client) => new MongoDocuments(() => client.db(), name));
      return {
        documents: documents!,
        others,
        close: async () => void (await db().collection(name).deleteMany({})),
      };
    },
    wait: (ms) => sleep(ms),
    skewInstanceClock,
    // As ShedLock's own provider for MongoDB does it.
    takeByStranger: async (_documents, _id, lockedBy, ttl) => {
      const lockedAt = new Date();
      const lockUntil = new Date(lockedAt.getTime() + ttl);
      await locksOf(db(), name).updateOne({ _id }, { $set: { lockUntil, lockedAt, lockedBy } });
    },
  };
}

/** The contract of entries, on two clients. */
export function mongoEntriesContract(clients: () => readonly MongoClient[]): LockEntriesContractOptions {
  const name = uniqueTable('entries');
  return {
    create: () => {
      const [entries, ...others] = clients().map((client) => new MongoEntries(() => client.db(), name));
      return {
        entries: entries!,
        others,
        close: async () => void (await clients()[0]!.db().collection(name).deleteMany({})),
      };
    },
    wait: (ms) => sleep(ms),
    skewInstanceClock,
  };
}

/** The contract of stores, on two clients. */
export function mongoContract(clients: () => readonly MongoClient[]): LockStoreContractOptions {
  const name = uniqueTable('contract');
  const locks = () => locksOf(clients()[0]!.db(), name);
  const forgetAll = async (): Promise<void> => {
    await locks().deleteMany({});
    await locksOf(clients()[0]!.db(), `${name}_entries`).deleteMany({});
  };
  return {
    inspects: true,
    lines: true,
    queuedCalls: true,
    history: true,
    create: async () => {
      const [store, ...others] = clients().map(
        (client) => new MongoLockStore(client.db(), { collection: name }),
      );
      await store!.init();
      return { store: store!, others, close: forgetAll };
    },
    wait: (ms) => sleep(ms),
    skewInstanceClock,
    // The document stays when a lease is over: a lock is gone, and what is kept with it is not, when its time is.
    forget: async (_id) => void (await locks().updateOne({ _id }, { $set: { lockUntil: new Date(0) } })),
    forgetAll,
    breakLock: async (_id) =>
      void (await locks().updateOne(
        { _id },
        { $set: { version: 'another', lockedBy: 'another', state: '{"not": "ours"}' } },
      )),
    // The server has other tests on it. To a document it is the same if all of its times are so much later.
    async setClockBack(_id, ms) {
      const found = await locks().findOne({ _id });
      const later = (text: string): string =>
        text.replaceAll(/("due": ?)(\d+)/g, (_, key: string, due) => `${key}${Number(due) + ms}`);
      const lockUntil = new Date(Number(found?.['lockUntil']) + ms);
      await locks().updateOne({ _id }, { $set: { lockUntil, state: later(String(found?.['state'])) } });
    },
  };
}
