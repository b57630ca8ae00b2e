import { SchedulerLockConfigError } from '../../errors.js';
import { SqlLockStore } from '../sql/sql-lock.store.js';
import { SQL_DEFAULTS, type SqlStoreOptions } from '../sql/table-name.js';
import { type MysqlClient, MysqlDialect } from './mysql-dialect.js';
import type { MysqlLook } from './table-look.js';

/** Options of {@link MysqlLockStore}. */
export type MysqlLockStoreOptions = SqlStoreOptions;

/**
 * Leases in a table of MySQL or MariaDB, which is also ShedLock's: instances that use either exclude each other.
 *
 * ```ts
 * SchedulerLockModule.forRoot({ store: new MysqlLockStore(createPool(uri), { table: 'locks' }) })
 * ```
 *
 * The pool is yours: it is never closed. It needs no session of its own, and any isolation level will do.
 */
export class MysqlLockStore extends SqlLockStore<MysqlLook> {
  /**
   * @param client a pool of `mysql2/promise` or of `mysql2`
   * @throws SchedulerLockConfigError for a client without `query()`, and for names that are none
   */
  constructor(client: MysqlClient | { promise(): MysqlClient }, options: MysqlLockStoreOptions = {}) {
    const pool = 'promise' in Object(client) ? (client as { promise(): MysqlClient }).promise() : client;
    if (typeof (pool as Partial<MysqlClient> | undefined)?.query !== 'function') {
      throw new SchedulerLockConfigError([
        'store: MysqlLockStore needs a pool: an object with query(text, values).',
      ]);
    }
    super(new MysqlDialect(pool as MysqlClient, options), {
      migrate: options.migrate ?? SQL_DEFAULTS.migrate,
    });
  }
}
