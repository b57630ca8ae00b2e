import {
  ENTRIES_SCHEMA as MYSQL_ENTRIES_SCHEMA,
  MysqlLockStore,
  SCHEMA as MYSQL_SCHEMA,
} from '../../lib/stores/mysql/index.js';
import {
  ENTRIES_SCHEMA as POSTGRES_ENTRIES_SCHEMA,
  PostgresLockStore,
  SCHEMA as POSTGRES_SCHEMA,
} from '../../lib/stores/postgres/index.js';
import { provideMysql, startMariadb, testMysqlPool } from './mysql-server.js';
import type { DatabaseServer, LocalDatabase } from './database-server.js';
import { providePostgres, startPostgres, testPool } from './postgres-server.js';
import { isMeant } from './servers.js';

export type SqlStore = PostgresLockStore | MysqlLockStore;

/** A pool of several connections, through which a test bypasses the store. */
export interface TestPool {
  /** @param text with `?` for parameters, on either database */
  rows(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** How many rows a write has found. */
  write(text: string, values?: unknown[]): Promise<number>;
  store(options?: StoreSettings): SqlStore;
  end(): Promise<void>;
}

export interface StoreSettings {
  readonly table?: string;
  readonly schema?: string;
  readonly migrate?: boolean;
  /** Only on MySQL. Elsewhere the limit is an option of the pool. */
  readonly queryTimeout?: number;
}

export interface PoolSettings {
  /** Connections, at most. @default 8 */
  readonly max?: number;
  /** Statements for each session before anything else. */
  readonly session?: readonly string[];
  /** Called for each statement that is sent. */
  readonly onStatement?: () => void;
}

/** A kind of database, for tests that are the same on each. */
export interface TestDatabase {
  readonly name: string;
  readonly schema: string;
  readonly entriesSchema: string;
  /** The table as ShedLock's README creates it. */
  readonly shedlock: (table: string) => string;
  provide(): Promise<DatabaseServer>;
  /** @param env more for its environment */
  start(options?: readonly string[], env?: NodeJS.ProcessEnv): Promise<LocalDatabase>;
  /** The URL for connections that look in another schema, or that are in another database. */
  at(url: string, schema: string): string;
  /**
   * Options for a server that loses nothing in a power cut, like a real installation; the servers of the tests may.
   */
  readonly durable: readonly string[];
  pool(url: string, settings?: PoolSettings): TestPool;
}

export const POSTGRES: TestDatabase = {
  name: 'PostgreSQL',
  schema: POSTGRES_SCHEMA,
  entriesSchema: POSTGRES_ENTRIES_SCHEMA,
  shedlock: (table) => `CREATE TABLE ${table}(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL,
    locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))`,
  provide: providePostgres,
  start: startPostgres,
  at(url, schema) {
    const there = new URL(url);
    there.searchParams.set('options', `-c search_path=${schema}`);
    return there.href;
  },
  durable: ['fsync=on'],
  pool(url, { max = 8, session = [], onStatement } = {}) {
    const pool = testPool(url, {
      max,
      // Before the pool hands the connection out.
      // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it, whatever its types say
      onConnect: async (client) => {
        for (const statement of session) await client.query(statement);
        if (onStatement !== undefined) watchStatements(client, onStatement);
      },
    });
    const query = (text: string, values?: unknown[]) => {
      let number = 0;
      return pool.query(
        text.replaceAll('?', () => `$${++number}`),
        values,
      );
    };
    return {
      rows: async (text, values) => (await query(text, values)).rows as Record<string, unknown>[],
      write: async (text, values) => (await query(text, values)).rowCount ?? 0,
      store: (options) => new PostgresLockStore(pool, options),
      end: () => pool.end(),
    };
  },
};

export const MYSQL: TestDatabase = {
  name: 'MySQL',
  schema: MYSQL_SCHEMA,
  entriesSchema: MYSQL_ENTRIES_SCHEMA,
  shedlock: (table) => `CREATE TABLE ${table}(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,
    locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))`,
  provide: provideMysql,
  start: startMariadb,
  at(url, schema) {
    const there = new URL(url);
    there.pathname = `/${schema}`;
    return there.href;
  },
  durable: ['--innodb-flush-log-at-trx-commit=1'],
  pool(url, { max = 8, session = [], onStatement } = {}) {
    const pool = testMysqlPool(url, { connectionLimit: max });
    // Commands of a connection are carried out in the order in which they were given.
    pool.on('connection', (connection) => {
      for (const statement of session) void connection.query(statement);
      if (onStatement !== undefined) watchStatements(connection, onStatement);
    });
    return {
      rows: async (text, values) => (await pool.query(text, values))[0] as Record<string, unknown>[],
      write: async (text, values) =>
        ((await pool.query(text, values))[0] as { affectedRows: number }).affectedRows,
      store: (options) => new MysqlLockStore(pool, options),
      end: () => pool.end(),
    };
  },
};

/** The single statements of a text. */
export function statementsOf(text: string): string[] {
  return text.split(/;\n|;$/).filter((statement) => statement.trim() !== '');
}

/** The same without rights, of which a MariaDB of the tests knows nothing: see `addRights()`. */
export const withoutGrants = (text: string): string[] =>
  statementsOf(text).filter((statement) => !/^GRANT /m.test(statement));

/** Calls `listener` for each statement of a connection from now on. */
function watchStatements(connection: object, listener: () => void): void {
  const target = connection as { query(...args: unknown[]): unknown };
  const { query } = target;
  target.query = (...args) => {
    listener();
    return query.apply(target, args);
  };
}

/** Those that the tests are to run on. */
export const DATABASES: readonly TestDatabase[] = [POSTGRES, MYSQL].filter(({ name }) => isMeant(name));
