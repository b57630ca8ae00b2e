import { createPool, type Pool as MysqlPool } from 'mysql2/promise';
import type { SchedulerLockModuleOptions } from 'nestjs-scheduler-lock';
import { MysqlLockStore } from 'nestjs-scheduler-lock/mysql';
import { PostgresLockStore } from 'nestjs-scheduler-lock/postgres';
import { Pool } from 'pg';

/** Where the leases of the demo are: in Redis, unless LOCK_STORE says `postgres` or `mysql`. */
export function lockStore(): Pick<SchedulerLockModuleOptions, 'connection' | 'keyPrefix' | 'store'> {
  const { env } = process;
  switch (env['LOCK_STORE']) {
    case 'postgres':
      return {
        store: new PostgresLockStore(postgresPool(env['DATABASE_URL']), { table: env['LOCK_TABLE'] }),
      };
    case 'mysql':
      return {
        store: new MysqlLockStore(mysqlPool(env['MYSQL_URL']), { table: env['LOCK_TABLE'] }),
      };
    default:
      return {
        connection: env['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
        keyPrefix: env['LOCK_PREFIX'] ?? 'sample-app',
      };
  }
}

function postgresPool(connectionString = 'postgres://postgres@127.0.0.1:5432/postgres'): Pool {
  const pool = new Pool({
    connectionString,
    connectionTimeoutMillis: 2_000, // a database that is away is an error, not a wait
    statement_timeout: 8_000, // the server gives up what waits for a row that is locked for long
    query_timeout: 10_000, // a connection that nobody answers on is given up; later than the server does
  });
  // An idle connection that breaks is replaced by the pool. Without a listener it would end the process.
  pool.on('error', () => undefined);
  return pool;
}

/** A connection that nobody answers on is given up by the store, after its `queryTimeout`. */
function mysqlPool(uri = 'mysql://root@127.0.0.1:3306/test'): MysqlPool {
  return createPool({ uri, connectTimeout: 2_000 });
}
