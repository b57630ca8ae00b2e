import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import { quietly } from '../../base/quietly.js';
import { foreignClient, kindOfValue } from '../shared/foreign-clients.js';

/** What the store needs of a `Db` of the package `mongodb`. */
export interface MongoDatabase {
  readonly databaseName: string;
  command(command: object, options?: object): Promise<unknown>;
  collection(name: string): MongoCollection;
}

/** What the store needs of a `Collection` of the package `mongodb`. */
export interface MongoCollection {
  aggregate(pipeline: object[], options?: object): { toArray(): Promise<unknown[]> };
  bulkWrite(operations: never[], options?: object): Promise<MongoBatchResult>;
}

/** What the store needs of a `BulkWriteResult` of the package `mongodb`. */
export interface MongoBatchResult {
  readonly matchedCount: number;
  readonly upsertedCount?: number;
  readonly deletedCount?: number;
}

/** A `MongoClient` of the package `mongodb`. Its database is the one that its URL names. */
export interface MongoClientLike {
  db(): MongoDatabase;
}

/** A `Connection` of Mongoose. */
export interface MongooseConnectionLike {
  readonly db?: MongoDatabase | undefined;
  getClient(): unknown;
}

/** What a {@link MongoLockStore} takes. */
export type MongoGiven = MongoDatabase | MongoClientLike | MongooseConnectionLike;

/**
 * A function that gets the database of a value. A connection of Mongoose has no database until it is connected.
 *
 * @throws SchedulerLockConfigError for a value without a database. The message says what the value is, and what to give
 */
export function databaseOf(given: MongoGiven): () => MongoDatabase {
  const has = (name: string): boolean =>
    typeof (given as unknown as Record<string, unknown> | undefined)?.[name] === 'function';
  if (has('getClient') && !has('command')) return () => quiet(connected(given as MongooseConnectionLike));
  if (has('db')) return () => quiet((given as MongoClientLike).db());
  if (has('command') && has('collection')) return () => quiet(given as MongoDatabase);
  const got = foreignClient(given, 'mongo', []) ?? kindOfValue(given);
  throw new SchedulerLockConfigError([
    `store: MongoLockStore needs a Db or a MongoClient of \`mongodb\` (new MongoClient(url)), or a connection of Mongoose. It got ${got}`,
  ]);
}

/** @throws StoreUnavailableError if there is no connection yet */
function connected({ db }: MongooseConnectionLike): MongoDatabase {
  if (db !== undefined && db !== null) return db;
  throw new StoreUnavailableError(
    'The connection of Mongoose is not open yet. Await the connection before the application starts: await connection.asPromise().',
    { outcome: 'not-applied' },
  );
}

/** A database that sends all {@link quietly}. */
function quiet(database: MongoDatabase): MongoDatabase {
  return {
    databaseName: database.databaseName,
    command: (...given) => quietly(() => database.command(...given)),
    collection: (name) => {
      const collection = database.collection(name);
      return {
        aggregate: (...given) => ({ toArray: () => quietly(() => collection.aggregate(...given).toArray()) }),
        bulkWrite: (...given) => quietly(() => collection.bulkWrite(...given)),
      };
    },
  };
}
