import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'mysql2/promise';
import { MysqlLockStore } from '../../../lib/stores/mysql/index.js';
import { uniqueTable } from '../../support/postgres-server.js';
import type { DatabaseContract } from './postgres-subject.js';

/**
 * The contract on MySQL or MariaDB, as users have it: two instances, each with a pool of several connections.
 *
 * @param connect makes a pool; called when the first case runs
 * @param create statements that make a table before, of which `%t` is the name; by default the store makes its own
 */
export function mysqlContract(connect: () => Pool, create: readonly string[] = []): DatabaseContract {
  const pools: Pool[] = [];
  const stores: MysqlLockStore[] = [];
  const table = uniqueTable('contract');
  const now = Date.now.bind(Date);
  const query = async (text: string, values?: unknown[]): Promise<void> => {
    await pools[0]?.query(text, values);
  };
  const options: DatabaseContract['options'] = {
    durable: true,
    inspects: true,
    async create() {
      if (stores.length === 0) {
        pools.push(connect(), connect());
        for (const statement of create) await query(statement.replaceAll('%t', table));
        stores.push(...pools.map((pool) => new MysqlLockStore(pool, { table })));
        await Promise.all(stores.map((each) => each.init()));
      }
      const [store, ...others] = stores;
      if (store === undefined) throw new Error('No pool was made');
      // Some names are the same in every case.
      return { store, others, close: () => query(`DELETE FROM ${table}`) };
    },
    wait: (ms) => sleep(ms),
    // The row stays when a lease is over: a lock is gone, and what is kept beside it is not, when its time is.
    forget: (name) => query(`UPDATE ${table} SET lock_until = '2000-01-01' WHERE name = ?`, [name]),
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
