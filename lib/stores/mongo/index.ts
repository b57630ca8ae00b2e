export { MongoLockStore, type MongoLockStoreOptions } from './mongo-lock.store.js';
export type {
  MongoClient,
  MongoCollection,
  MongoDatabase,
  MongoGiven,
  MongooseConnection,
} from './client.js';
