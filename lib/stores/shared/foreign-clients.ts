/*
 * lib/stores/shared: what stores of several kinds use: which client a user gave, and a connection on which hints are heard.
 * May not enter: rules, statements, drivers.
 */
import { show } from '../../base/wording.js';

/** A value that a user may give to a store by mistake, and what to give instead. */
interface Foreign {
  /** What the value is, as a part of a sentence. */
  readonly what: string;
  is(has: Has): boolean;
  /** What to give instead, as sentences: by the kind of store, or the same for all. */
  readonly instead?: string | Partial<Readonly<Record<StoreKind, string>>>;
}

/** The kinds of stores that are given a client. */
export type StoreKind = 'postgres' | 'mysql' | 'redis' | 'mongo';

/** Whether a value has members of these names that are functions. */
type Has = ((...names: string[]) => boolean) & { readonly value: Readonly<Record<string, unknown>> };

const BESIDE = {
  postgres: 'It has no such pool: make a Pool of `pg` beside it.',
  mysql: 'It has no such pool: make one of `mysql2` beside it.',
};

/** The first that fits decides. They are recognised by their members: bundlers rename classes. */
const FOREIGN: readonly Foreign[] = [
  {
    what: 'a client of ioredis',
    is: (has) => has('evalsha', 'duplicate') && 'status' in has.value,
    instead: 'Give it to the module as `connection`, or to RedisLockStore.',
  },
  {
    what: 'a pool of node-redis (the package `redis`)',
    is: (has) => has('sendCommand', 'connect') && 'totalClients' in has.value,
    instead: { redis: 'Give a client: createClient(), connected, of its own.' },
  },
  {
    what: 'a client of node-redis (the package `redis`)',
    is: (has) => has('sendCommand', 'connect') && ('isOpen' in has.value || has('createClient')),
    instead: {
      redis:
        'The versions 5 and 6 fit: give what createClient(), createCluster() or createSentinel() returned.',
      postgres: 'Give it to the module as `connection`, or to RedisLockStore.',
      mysql: 'Give it to the module as `connection`, or to RedisLockStore.',
    },
  },
  {
    what: 'a client or a database of `mongodb`',
    is: (has) => has('db', 'startSession') || has('command', 'collection', 'listCollections'),
    instead: 'It is for MongoLockStore of nestjs-scheduler-lock/mongo.',
  },
  {
    what: 'a Mongoose',
    is: (has) => has('connect', 'createConnection', 'model'),
    instead: { mongo: 'Give its connection: mongoose.connection.' },
  },
  {
    what: 'a connection of Mongoose',
    is: (has) => has('getClient', 'asPromise', 'model'),
    instead: 'It is for MongoLockStore of nestjs-scheduler-lock/mongo.',
  },
  {
    what: 'a collection',
    is: (has) => has('bulkWrite', 'aggregate', 'insertOne'),
    instead: { mongo: 'Give its database, and its name as the option `collection`.' },
  },
  {
    what: 'a DataSource of TypeORM',
    is: (has) => has('initialize', 'getRepository', 'query'),
    instead: {
      postgres: 'Give its pool, once it is initialized: dataSource.driver.master.',
      mysql: 'Give its pool, once it is initialized: dataSource.driver.pool.',
    },
  },
  {
    what: 'a Sequelize',
    is: (has) => has('authenticate', 'getDialect', 'query'),
    instead: BESIDE,
  },
  {
    what: 'a client of Prisma',
    is: (has) => has('$queryRawUnsafe', '$connect'),
    instead: {
      postgres: 'Give { query: (text, values) => prisma.$queryRawUnsafe(text, ...values) }.',
      mysql: 'It cannot do what the store needs: make a pool of `mysql2` beside it.',
    },
  },
  {
    what: 'a Knex',
    is: (has) => has('raw', 'from', 'transaction'),
    instead: {
      postgres: 'Give the Pool of `pg` that you give to Knex: knex({ client: "pg", connectionPool: pool }).',
      mysql:
        'Give the pool of `mysql2` that you give to Knex: knex({ client: "mysql2", connectionPool: pool }).',
    },
  },
  {
    what: 'a database of Drizzle',
    is: (has) => has('select', 'transaction') && '$client' in has.value,
    instead: { postgres: 'Give its pool: db.$client.', mysql: 'Give its pool: db.$client.' },
  },
  { what: 'a Kysely', is: (has) => has('selectFrom', 'insertInto'), instead: BESIDE },
  { what: 'a client of postgres.js', is: (has) => has('unsafe', 'begin'), instead: BESIDE },
  { what: 'a MikroORM', is: (has) => has('getSchemaGenerator') || 'em' in has.value, instead: BESIDE },
  {
    what: 'a pool of `pg`',
    is: (has) => has('connect', 'query') && typeof has.value['totalCount'] === 'number',
    instead: 'It is for PostgresLockStore of nestjs-scheduler-lock/postgres.',
  },
  {
    what: 'a single connection of `pg`',
    is: (has) => has('connect', 'query', 'end') && 'connectionParameters' in has.value,
    instead: 'Give PostgresLockStore a Pool: a single connection that dies is not made anew.',
  },
  {
    what: 'a pool of `mysql2`',
    is: (has) => has('getConnection') && (has('promise') || having(has.value['pool'])('promise')),
    instead: 'It is for MysqlLockStore of nestjs-scheduler-lock/mysql.',
  },
  {
    what: 'a pool of `mariadb`',
    is: (has) => has('getConnection', 'importFile', 'query'),
    instead: 'It is for MysqlLockStore of nestjs-scheduler-lock/mysql.',
  },
  {
    what: 'a pool of `mysql`',
    is: (has) => has('getConnection', 'escapeId') && '_allConnections' in has.value,
    instead: 'That package knows no promises: give MysqlLockStore a pool of `mysql2`.',
  },
  {
    what: 'a single connection of MySQL',
    is: (has) =>
      has('query', 'execute', 'unprepare') || (has('query', 'changeUser') && !has('getConnection')),
    instead: 'Give MysqlLockStore a pool (createPool): a single connection that dies is not made anew.',
  },
  { what: 'a promise', is: (has) => has('then'), instead: 'Await it before.' },
];

/**
 * Describes a value that is none of the clients which a store takes: what it is, as a part of a sentence, and after that what to give
 * instead, as sentences. `undefined` if the value is not known. Never quotes the value: it may hold a password.
 *
 * @param fits what the store takes, by its name in this file
 */
export function foreignClient(value: unknown, kind: StoreKind, fits: readonly string[]): string | undefined {
  const found = typeof value === 'string' ? undefined : FOREIGN.find(({ is }) => is(having(value)));
  if (found === undefined || fits.includes(found.what)) return undefined;
  const { what, instead } = found;
  const advice = typeof instead === 'string' ? instead : instead?.[kind];
  return [`${what}.`, advice].filter(Boolean).join(' ');
}

/** What a value is, as a part of a sentence. Never quotes a text: it may hold a password. */
export function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string') return value === '' ? 'an empty text' : 'a text';
  if (typeof value === 'function')
    return /^class\b/.test(String(value)) ? 'a class, not an object of it' : 'a function';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? 'a plain object' : show(value);
}

function having(given: unknown): Has {
  const value = Object(given) as Readonly<Record<string, unknown>>;
  const has = (...names: string[]): boolean => names.every((name) => typeof value[name] === 'function');
  return Object.assign(has, { value });
}
