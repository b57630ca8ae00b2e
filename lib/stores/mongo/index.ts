export { MongoLockStore, type MongoLockStoreOptions } from './mongo-lock.store.js';
export type {
  MongoClientLike,
  MongoCollection,
  MongoDatabase,
  MongoGiven,
  MongooseConnectionLike,
} from './client.js';
