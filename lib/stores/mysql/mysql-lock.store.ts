/*
 * lib/stores/mysql: what is special about MySQL and MariaDB: statements, types, connections.
 * May not enter: what PostgreSQL needs as well, which is in stores/sql.
 */
import { type Duration, parseDuration } from '../../base/duration.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { checkClient } from '../sql/given-client.js';
import { SqlLockStore } from '../sql/sql-lock.store.js';
import { SQL_DEFAULTS, type SqlStoreOptions } from '../sql/table-name.js';
import type { MysqlClient } from './client.js';
import { MysqlDialect } from './mysql-dialect.js';
import type { MysqlTable } from './columns.js';

/** Options of {@link MysqlLockStore}. */
export interface MysqlLockStoreOptions extends SqlStoreOptions {
  /**
   * How long a statement may take, the wait for a connection included; milliseconds, or with a unit.
   *
   * 1. A connection that has not answered by then is closed: if a network has dropped the connection silently, it must not stay in the pool.
   * 2. MariaDB also ends the statement by then.
   * 3. A migration has limits of its own.
   * 4. Only for pools of `mysql2`: any other client needs a limit of its own.
   *
   * @default '5s'
   */
  readonly queryTimeout?: Duration | undefined;
}

/** Longer than a caller waits (`storeTimeout`, by default), ms. */
const QUERY_TIMEOUT = 5_000;

/**
 * Leases in a table of MySQL or MariaDB, which is also ShedLock's: instances that use either exclude each other.
 *
 * ```ts
 * SchedulerLockModule.forRoot({ store: new MysqlLockStore(createPool(uri), { table: 'locks' }) })
 * ```
 *
 * The pool is yours: the store never closes the pool. The store needs no session of its own, and any isolation level will do.
 */
export class MysqlLockStore extends SqlLockStore<MysqlTable> {
  /**
   * @param client a pool of `mysql2/promise` or of `mysql2`, or any client with its `query(text, values)`. Such a client
   *   has to close connections without an answer by itself
   * @throws SchedulerLockConfigError for a value that is no pool (the message says what it is), for invalid names, and for a `queryTimeout` that is no duration
   */
  constructor(client: MysqlClient | { promise(): MysqlClient }, options: MysqlLockStoreOptions = {}) {
    const { queryTimeout = QUERY_TIMEOUT, migrate = SQL_DEFAULTS.migrate } = options;
    const limit = parseDuration(queryTimeout);
    if (limit === undefined) {
      throw new SchedulerLockConfigError([
        `store: queryTimeout: expected milliseconds or a text like '5s', got ${String(queryTimeout)}.`,
      ]);
    }
    checkClient(client, 'mysql', ['MysqlLockStore', 'a pool of `mysql2`', 'createPool(url)']);
    super(new MysqlDialect(client, options, limit), { migrate });
  }
}
