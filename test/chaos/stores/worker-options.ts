import { createPool } from 'mysql2/promise';
import type { SchedulerLockModuleOptions } from 'nestjs-scheduler-lock';
import { MysqlLockStore } from 'nestjs-scheduler-lock/mysql';
import { PostgresLockStore } from 'nestjs-scheduler-lock/postgres';
import pg from 'pg';
import type { StoreConnection } from './store.js';

const OPTIONS: Readonly<Record<string, (connection: StoreConnection) => SchedulerLockModuleOptions>> = {
  redis: ({ host, port }) => ({ connection: `redis://${host}:${port}` }),
  postgres: ({ host, port }) => {
    const connectionString = `postgres://postgres@${host}:${port}/postgres`;
    const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 2_000, query_timeout: 5_000 });
    // Without a listener an idle connection that breaks ends the process.
    pool.on('error', () => undefined);
    return { store: new PostgresLockStore(pool) };
  },
  mysql: ({ host, port }) => {
    const uri = `mysql://root@${host}:${port}/locks`;
    return { store: new MysqlLockStore(createPool({ uri, connectTimeout: 2_000 })) };
  },
};

/** The module options of an instance for a store. */
export function storeOptions(connection: StoreConnection): SchedulerLockModuleOptions {
  const options = OPTIONS[connection.store];
  if (options === undefined) throw new Error(`No module options for the store ${connection.store}`);
  return options(connection);
}
