import type { SchedulerLockModuleOptions } from 'nestjs-scheduler-lock';

/** A store as a parent names it to a child: where it is and, of a database, the table or collection. */
export type StoreAddress =
  { readonly connection: string } | { readonly database: { readonly url: string; readonly table: string } };

/** What the module is given for a store in another process. */
export interface OpenedStore {
  readonly options: Pick<SchedulerLockModuleOptions, 'connection' | 'store'>;
  /** Ends what is the application's own. To be called when that is closed. */
  close(): Promise<void>;
}

/** Drivers are loaded by those who need them: every instance has to start soon. */
export async function openStore(address: StoreAddress): Promise<OpenedStore> {
  if ('connection' in address) return { options: address, close: async () => undefined };
  const { url, table } = address.database;
  if (url.startsWith('mysql:')) {
    const { createPool } = await import('mysql2/promise');
    const { MysqlLockStore } = await import('nestjs-scheduler-lock/mysql');
    const pool = createPool(url);
    return { options: { store: new MysqlLockStore(pool, { table }) }, close: () => pool.end() };
  }
  if (url.startsWith('mongodb:')) {
    const { MongoClient } = await import('mongodb');
    const { MongoLockStore } = await import('nestjs-scheduler-lock/mongo');
    const client = new MongoClient(url);
    return {
      options: { store: new MongoLockStore(client, { collection: table }) },
      close: () => client.close(),
    };
  }
  const { default: pg } = await import('pg');
  const { PostgresLockStore } = await import('nestjs-scheduler-lock/postgres');
  const pool = new pg.Pool({ connectionString: url });
  // Without a listener an idle connection that breaks ends the process.
  pool.on('error', () => undefined);
  return { options: { store: new PostgresLockStore(pool, { table }) }, close: () => pool.end() };
}
