/*
 * lib/stores/mongo: locks in MongoDB, each in a document.
 * May not enter: rules; those of lib/rules decide.
 */
import { SchedulerLockConfigError } from '../../base/errors.js';
import { DocumentLockStore } from '../../rules/documents/document-lock-store.js';
import { databaseOf, type MongoDatabase, type MongoGiven } from './client.js';
import { failed, isDenied, reasonOf } from './errors.js';
import { MongoDocuments } from './mongo-documents.js';
import { MongoEntries } from './mongo-entries.js';
import { checkServer } from './server.js';

/** Options of {@link MongoLockStore}. */
export interface MongoLockStoreOptions {
  /**
   * The collection of the locks. MongoDB creates the collection with the first lock. Queued calls and histories are in another one, with
   * `_entries` behind this name.
   *
   * @default 'shedLock', as ShedLock has it
   */
  readonly collection?: string;
}

/**
 * Leases in a collection of MongoDB, which is also ShedLock's: instances that use either exclude each other.
 *
 * ```ts
 * SchedulerLockModule.forRoot({ store: new MongoLockStore(client.db('app')) })
 * ```
 *
 * 1. The client is yours: the store never closes the client.
 * 2. Each statement goes to the primary, waits until a majority of the replica set has the write, and belongs to no session or transaction of
 *    yours, whatever the settings of the client.
 * 3. A call that waits asks a few times a second whether it is its turn.
 */
export class MongoLockStore extends DocumentLockStore {
  readonly #database: () => MongoDatabase;
  readonly #collection: string;

  /**
   * @param given a `Db` or a `MongoClient` of `mongodb`, or a `Connection` of Mongoose. A client stands for the database in its URL
   * @throws SchedulerLockConfigError for any other value (the message says what the value is), and for a name that no collection can have
   */
  constructor(given: MongoGiven, { collection = 'shedLock' }: MongoLockStoreOptions = {}) {
    const database = databaseOf(given);
    checkName(collection);
    const entries = new MongoEntries(database, `${collection}_entries`);
    super(new MongoDocuments(database, collection), { entries });
    this.#database = database;
    this.#collection = collection;
  }

  get label(): string {
    return `the collection ${this.#collectionName} of MongoDB`;
  }

  /**
   * Checks the server, and that the user may read the collection.
   *
   * @throws SchedulerLockConfigError for FerretDB 1, a MongoDB older than 5, a view, and a collection that is capped or has a collation;
   *   if the credentials are rejected, or a right is missing
   * @throws StoreUnavailableError if MongoDB cannot be reached now
   */
  async init(): Promise<void> {
    try {
      await checkServer(this.#database(), this.#collection);
      await this.inspect(['-']);
    } catch (error) {
      if (error instanceof SchedulerLockConfigError) throw error;
      const cause = (error as Error).cause ?? error;
      if (!isDenied(cause)) throw failed(error, 'not-applied');
      throw new SchedulerLockConfigError([
        `store: MongoDB refused: ${reasonOf(cause)}. Check the credentials, and the rights: find, insert and update on ${this.#collectionName}.`,
      ]);
    }
  }

  /** The collection, with its database as soon as the database is known. */
  get #collectionName(): string {
    try {
      return `${this.#database().databaseName}.${this.#collection}`;
    } catch {
      return this.#collection;
    }
  }
}

/** @throws SchedulerLockConfigError https://www.mongodb.com/docs/manual/reference/limits/#naming-restrictions */
function checkName(name: unknown): void {
  if (typeof name === 'string' && name !== '' && !/[$\0]|^system\./.test(name)) return;
  throw new SchedulerLockConfigError([
    `store: MongoLockStore: collection: ${JSON.stringify(name)} is no name of a collection. Give a text without $ that does not begin with "system.".`,
  ]);
}
