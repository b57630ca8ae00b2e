/*
 * lib/stores/shared: what stores of several kinds use: which client a user gave.
 * May not enter: rules, statements, drivers.
 */
import { show } from '../../base/wording.js';

/** The kinds of stores that are given a client. */
export type StoreKind = 'postgres' | 'mysql' | 'redis' | 'mongo';

type Value = Readonly<Record<string, unknown>>;
const has = (value: Value, ...names: string[]): boolean =>
  names.every((name) => typeof value[name] === 'function');

const POSTGRES = 'It is for PostgresLockStore of nestjs-scheduler-lock/postgres.';
const MYSQL = 'It is for MysqlLockStore of nestjs-scheduler-lock/mysql.';
const REDIS = 'Give it to the module as `connection`, or to RedisLockStore.';

/**
 * What a user may give by mistake: what it is, by its members (bundlers rename classes), and what to give instead, by the kind of store or
 * for all. The first that fits decides.
 */
const FOREIGN: readonly (readonly [
  string,
  (value: Value) => boolean,
  string | Readonly<Record<string, string>>,
])[] = [
  ['a client of ioredis', (value) => has(value, 'evalsha', 'duplicate') && 'status' in value, REDIS],
  [
    'a client of node-redis (the package `redis`)',
    (value) => has(value, 'sendCommand', 'connect'),
    { redis: 'The versions 5 and 6 fit.', postgres: REDIS, mysql: REDIS },
  ],
  [
    'a client of `mongodb`',
    (value) =>
      has(value, 'db', 'startSession') || has(value, 'listCollections') || has(value, 'getClient', 'model'),
    'It is for MongoLockStore of nestjs-scheduler-lock/mongo.',
  ],
  [
    'a Mongoose',
    (value) => has(value, 'createConnection', 'model'),
    { mongo: 'Give its connection: mongoose.connection.' },
  ],
  [
    'a collection',
    (value) => has(value, 'bulkWrite', 'insertOne'),
    { mongo: 'Give its database, and its name as the option `collection`.' },
  ],
  [
    'a DataSource of TypeORM',
    (value) => has(value, 'initialize', 'getRepository'),
    {
      postgres: 'Give its pool, once it is initialized: dataSource.driver.master.',
      mysql: 'Give its pool, once it is initialized: dataSource.driver.pool.',
    },
  ],
  [
    'a client of Prisma',
    (value) => has(value, '$queryRawUnsafe', '$connect'),
    {
      postgres: 'Give { query: (text, values) => prisma.$queryRawUnsafe(text, ...values) }.',
      mysql: 'It cannot do what the store needs: make a pool of `mysql2` beside it.',
    },
  ],
  [
    'a pool of `pg`',
    (value) => has(value, 'connect', 'query') && typeof value['totalCount'] === 'number',
    POSTGRES,
  ],
  [
    'a single connection of `pg`',
    (value) => has(value, 'connect', 'query') && 'connectionParameters' in value,
    'Give PostgresLockStore a Pool: a single connection that dies is not made anew.',
  ],
  ['a pool of `mysql2`', (value) => has(value, 'getConnection', 'query'), MYSQL],
  [
    'a single connection of MySQL',
    (value) => has(value, 'query', 'changeUser') || has(value, 'query', 'unprepare'),
    'Give MysqlLockStore a pool (createPool): a single connection that dies is not made anew.',
  ],
  ['a promise', (value) => has(value, 'then'), 'Await it before.'],
];

/**
 * Describes a value that is none of the clients which a store takes: what it is, as a part of a sentence, and after that what to give
 * instead. `undefined` if the value is not known. Never quotes the value: it may hold a password.
 *
 * @param fits what the store takes, by its name in this file
 */
export function foreignClient(value: unknown, kind: StoreKind, fits: readonly string[]): string | undefined {
  const found = typeof value === 'string' ? undefined : FOREIGN.find(([, is]) => is(Object(value) as Value));
  if (found === undefined || fits.includes(found[0])) return undefined;
  const [what, , instead] = found;
  const advice = typeof instead === 'string' ? instead : (instead[kind] ?? '');
  return `${what}. ${advice}`.trim();
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
