import { afterAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import mysql from 'mysql2';
import mysqlPromise from 'mysql2/promise';
import pg from 'pg';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import { MysqlLockStore } from '../../../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../../../lib/stores/postgres/index.js';
import { RedisLockStore } from '../../../../lib/stores/redis/index.js';

const nowhere = { host: '127.0.0.1', port: 1 };
const pool = new pg.Pool(nowhere);
const mysqlPool = mysql.createPool(nowhere);
const promisePool = mysqlPromise.createPool(nowhere);
const connection = mysql.createConnection(nowhere);
connection.on('error', () => undefined);
const redis = new Redis({ ...nowhere, lazyConnect: true });

afterAll(async () => {
  connection.destroy();
  await Promise.all([pool.end(), promisePool.end(), mysqlPool.promise().end()]);
  redis.disconnect();
});

/** An object with these methods and values, as the packages that are not installed here have them: each was tried with the real one. */
const like = (methods: string, values: object = {}): object =>
  Object.assign(Object.fromEntries(methods.split(' ').map((name) => [name, () => undefined])), values);

class Unknown {}

const stores = { postgres: PostgresLockStore, mysql: MysqlLockStore, redis: RedisLockStore };

function saidBy(store: keyof typeof stores, given: unknown): string {
  try {
    new stores[store](given as never);
  } catch (error) {
    expect(error).toBeInstanceOf(SchedulerLockConfigError);
    return (error as Error).message;
  }
  return 'taken';
}

describe('a store says what it was given instead of its client:', () => {
  test.each<[what: string, given: unknown, postgres: RegExp, mysql: RegExp, redis: RegExp]>([
    ['nothing', undefined, /got undefined\./, /got undefined\./, /it is undefined/],
    ['null', null, /got null/, /got null/, /got null/],
    ['a number', 7, /got a number/, /got a number/, /type number/],
    [
      'options',
      { host: 'x' },
      /a pool of `pg`.*a plain object/,
      /a pool of `mysql2`.*a plain object/,
      /^taken/,
    ],
    ['a class', pg.Pool, /got a class, not an object of it/, /got a class/, /type function/],
    ['what nobody knows', new Unknown(), /of class Unknown/, /of class Unknown/, /of class Unknown/],
    ['a promise', Promise.resolve(), /a promise\. Await it/, /a promise\. Await it/, /a promise\. Await it/],
    [
      'a pool of pg',
      pool,
      /^taken/,
      /pool of `pg`\. .*PostgresLockStore/,
      /pool of `pg`\. .*PostgresLockStore/,
    ],
    ['a client of pg', new pg.Client(nowhere), /single connection of `pg`\. .*Pool/, /of `pg`/, /of `pg`/],
    [
      'a pool of mysql2',
      mysqlPool,
      /of `mysql2`\. .*MysqlLockStore/,
      /^taken/,
      /of `mysql2`\. .*MysqlLockStore/,
    ],
    ['one with promises', promisePool, /of `mysql2`\. .*MysqlLockStore/, /^taken/, /of `mysql2`/],
    [
      'a connection of mysql2',
      connection,
      /of MySQL\./,
      /single connection of MySQL\. .*createPool/,
      /MySQL/,
    ],
    [
      'one with promises',
      connection.promise(),
      /of MySQL\./,
      /single connection of MySQL\. .*createPool/,
      /MySQL/,
    ],
    [
      'a pool of mariadb',
      like('getConnection importFile query'),
      /MysqlLockStore/,
      /^taken/,
      /MysqlLockStore/,
    ],
    ['a client of ioredis', redis, /ioredis\. .*`connection`/, /ioredis\. .*RedisLockStore/, /^taken/],
    [
      'a client of node-redis',
      like('sendCommand connect', { isOpen: false }),
      /node-redis/,
      /node-redis/,
      /node-redis.*The versions 5 and 6 fit/,
    ],
    [
      'TypeORM',
      like('initialize getRepository query'),
      /dataSource\.driver\.master/,
      /dataSource\.driver\.pool/,
      /TypeORM/,
    ],
    [
      'Prisma',
      like('$queryRawUnsafe $connect'),
      /Prisma\. .*\$queryRawUnsafe\(text/,
      /Prisma\. .*`mysql2`/,
      /Prisma/,
    ],
    [
      'Knex',
      Object.assign(() => undefined, like('raw from transaction')),
      /needs a pool.*a function/,
      /needs a pool/,
      /type function/,
    ],
  ])('%s', (_what, given, ...said) => {
    for (const [i, store] of (['postgres', 'mysql', 'redis'] as const).entries())
      expect(saidBy(store, given)).toMatch(said[i] ?? /never/);
  });

  test('a URL is never quoted', () => {
    for (const store of ['postgres', 'mysql', 'redis'] as const) {
      const said = saidBy(store, 'postgres://me:geheim@host/db');
      expect(said).not.toBe('taken');
      expect(said).not.toContain('geheim');
    }
  });
});

test('any object with a query() of its own is taken', () => {
  for (const store of ['postgres', 'mysql'] as const)
    expect(saidBy(store, { query: () => undefined })).toBe('taken');
});
