import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PostgresLockStore } from '../../../lib/stores/postgres/index.js';
import type { LockStoreContractOptions } from '../../../lib/testing/index.js';
import { uniqueTable } from '../../support/postgres-server.js';

export interface DatabaseContract {
  readonly options: LockStoreContractOptions;
  close(): Promise<void>;
}

/**
 * The contract on PostgreSQL, as users have it: two instances, each with a pool of several connections.
 *
 * @param connect makes a pool; called when the first case runs
 * @param create the SQL of a table that is there before, of which `%t` is the name; by default the store makes its own
 */
export function postgresContract(connect: () => pg.Pool, create?: string): DatabaseContract {
  const pools: pg.Pool[] = [];
  const stores: PostgresLockStore[] = [];
  const table = uniqueTable('contract');
  const now = Date.now.bind(Date);
  const query = async (text: string, values?: unknown[]): Promise<void> => {
    await pools[0]?.query(text, values);
  };
  const options: LockStoreContractOptions = {
    durable: true,
    inspects: true,
    async create() {
      if (stores.length === 0) {
        pools.push(connect(), connect());
        if (create !== undefined) await query(create.replaceAll('%t', table));
        stores.push(...pools.map((pool) => new PostgresLockStore(pool, { table })));
        await Promise.all(stores.map((each) => each.init()));
      }
      const [store, ...others] = stores;
      if (store === undefined) throw new Error('No pool was made');
      // Some names are the same in every case.
      return { store, others, close: () => query(`DELETE FROM ${table}`) };
    },
    wait: (ms) => sleep(ms),
    // The row stays when a lease is over: a lock is gone, and what is kept beside it is not, when its time is.
    forget: (name) => query(`UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = $1`, [name]),
    forgetAll: () => query(`DELETE FROM ${table}`),
    skewInstanceClock: (ms) => {
      Date.now = ms === 0 ? now : () => now() + ms;
    },
  };
  const close = async (): Promise<void> => {
    await query(`DROP TABLE IF EXISTS ${table}`);
    await Promise.all(pools.map((pool) => pool.end()));
  };
  return { options, close };
}
