import { createPool } from 'mysql2/promise';
import type { SchedulerLockModuleOptions } from 'nestjs-scheduler-lock';
import { MysqlLockStore } from 'nestjs-scheduler-lock/mysql';
import { PostgresLockStore } from 'nestjs-scheduler-lock/postgres';
import { Pool } from 'pg';

/** Where the leases are: in Redis, unless LOCK_STORE says `postgres` or `mysql`. Copy the one that you need. */
export function lockStore(): Pick<SchedulerLockModuleOptions, 'connection' | 'keyPrefix' | 'store'> {
  const { env } = process;
  switch (env['LOCK_STORE']) {
    case 'postgres':
      return {
        store: new PostgresLockStore(postgresPool(env['DATABASE_URL']), { table: env['LOCK_TABLE'] }),
      };
    case 'mysql':
      return {
        store: new MysqlLockStore(createPool(env['MYSQL_URL'] ?? 'mysql://root@127.0.0.1:3306/test'), {
          table: env['LOCK_TABLE'],
        }),
      };
    default:
      return {
        connection: env['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
        keyPrefix: env['LOCK_PREFIX'] ?? 'sample-app',
      };
  }
}

function postgresPool(connectionString = 'postgres://postgres@127.0.0.1:5432/postgres'): Pool {
  const pool = new Pool({ connectionString });
  // An idle connection that breaks is replaced by the pool. Without a listener it would end the process.
  pool.on('error', () => undefined);
  return pool;
}
