/*
 * lib/stores/postgres: what is special about PostgreSQL: statements, types, connections, notifications.
 * May not enter: what MySQL needs as well, which is in stores/sql.
 */
import { checkClient } from '../sql/given-client.js';
import { SqlLockStore } from '../sql/sql-lock.store.js';
import type { Room } from '../sql/sql-table.js';
import { SQL_DEFAULTS, type SqlStoreOptions } from '../sql/table-name.js';
import type { PostgresClient } from './client.js';
import { PostgresDialect } from './postgres-dialect.js';

/** Options of {@link PostgresLockStore}. */
export type PostgresLockStoreOptions = SqlStoreOptions;

/**
 * Leases in a PostgreSQL table, which is also ShedLock's: instances that use either exclude each other.
 *
 * ```ts
 * SchedulerLockModule.forRoot({ store: new PostgresLockStore(new Pool({ connectionString }), { schema: 'jobs' }) })
 * ```
 *
 * 1. The pool is yours: the store never closes the pool.
 * 2. The store gives a statement up after 10 s, or after the `query_timeout` of the pool if that is shorter, and closes its connection.
 * 3. Give the pool a shorter `statement_timeout`. Without one, the server goes on with statements that were given up.
 * 4. The store needs no session of its own, so a proxy that pools transactions (PgBouncer) may stand between. Any isolation level will do.
 */
export class PostgresLockStore extends SqlLockStore<Room> {
  /**
   * @param client a `Pool` of `pg`, or any client with its `query(text, values)`
   * @throws SchedulerLockConfigError for a value that is no pool (the message says what it is), and for invalid names
   */
  constructor(client: PostgresClient, options: PostgresLockStoreOptions = {}) {
    checkClient(client, 'postgres', [
      'PostgresLockStore',
      'a pool of `pg`',
      'new Pool({ connectionString })',
    ]);
    super(new PostgresDialect(client, options), { migrate: options.migrate ?? SQL_DEFAULTS.migrate });
  }
}
