import type { LockStore } from '../../contract/lock-store.js';
import { MysqlLockStore } from '../../stores/mysql/mysql-lock.store.js';
import { PostgresLockStore } from '../../stores/postgres/postgres-lock.store.js';
import { RedisConnection } from '../../stores/redis/redis-connection.js';
import { RedisLockStore, type RedisLockStoreOptions } from '../../stores/redis/redis-lock.store.js';
import { loadConfig, type RedisSource, type StoreOptions } from './config.js';
import { loadMysql, loadPostgres } from './drivers.js';
import { kindOf, type StoreAddress } from './address.js';

/** A store that is only read. */
export interface OpenStore {
  readonly store: LockStore;
  close(): Promise<void>;
}

/** How long to wait for a connection, and for an answer, ms. */
const LIMIT = 5_000;
/** How long a statement may take, ms: a little longer than the store waits for a table that another client has locked. */
const STATEMENT_LIMIT = 4_000;
/** No lock can have this name. */
const NO_LOCK = '{';
/** Connections to a database at most. */
const CONNECTIONS = 4;
/** The application name that a database shows for the connection. */
const NAME = 'nestjs-scheduler-lock';

/**
 * Connects to the store, for reading only: creates no table, and tests no right by writing.
 *
 * @throws SchedulerLockConfigError if the credentials, the table or the driver do not work
 * @throws StoreUnavailableError if the store cannot be reached
 */
export async function openStore(address: StoreAddress): Promise<OpenStore> {
  if (address.config !== undefined) return openConfigured(await loadConfig(address.config));
  const kind = kindOf(address);
  if (kind === 'postgres') return openPostgres(address);
  return kind === 'mysql' ? openMysql(address) : openRedis(address);
}

function openRedis(address: StoreAddress): Promise<OpenStore> {
  const { url, keyPrefix, key: pattern } = address;
  const [head = '', tail = ''] = pattern?.split('*') ?? [];
  const key = pattern === undefined ? undefined : (name: string): string => head + name + tail;
  return openConnection(url, { keyPrefix, key });
}

/** Connects without `init()` of the store, which tests rights by writing: a user who only reads may lack them. */
async function openConnection(
  source: RedisSource,
  { keyPrefix, key }: RedisLockStoreOptions,
): Promise<OpenStore> {
  // Throws if the options are wrong.
  void new RedisLockStore(source, { keyPrefix, key });
  const connection = new RedisConnection(source);
  const close = (): Promise<void> => connection.close();
  return closedIfItFails(async () => {
    await connection.open();
    return { store: new RedisLockStore(await connection.connected(), { keyPrefix, key }), close };
  }, close);
}

/** The store as a module of the application has it: with any client, key and options. */
async function openConfigured(options: StoreOptions): Promise<OpenStore> {
  const { connection, keyPrefix, key, store } = options;
  if (store === undefined) return openConnection(connection, { keyPrefix, key });
  const close = async (): Promise<void> => store.close?.();
  return closedIfItFails(async () => {
    await store.init?.();
    return { store, close };
  }, close);
}

async function openPostgres({ url, table, schema }: StoreAddress): Promise<OpenStore> {
  const Pool = await loadPostgres();
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: LIMIT,
    query_timeout: STATEMENT_LIMIT,
    application_name: NAME,
  });
  // An error of a connection that is not in use: the next call fails, and reports it.
  pool.on('error', () => undefined);
  const close = (): Promise<void> => pool.end();
  return closedIfItFails(async () => {
    const options = { table, schema, migrate: false };
    const store = new PostgresLockStore(pool, options);
    await reached(pool.query('SELECT 1', []), (client) => new PostgresLockStore(client, options));
    await checkTables(store);
    return { store, close };
  }, close);
}

async function openMysql({ url, table, schema }: StoreAddress): Promise<OpenStore> {
  const createPool = await loadMysql();
  const pool = createPool({ uri: url, connectionLimit: CONNECTIONS, connectTimeout: LIMIT });
  const close = (): Promise<void> => pool.end();
  return closedIfItFails(async () => {
    const options = { table, schema, migrate: false, queryTimeout: STATEMENT_LIMIT };
    const store = new MysqlLockStore(pool, options);
    await reached(pool.query('SELECT 1', []), (client) => new MysqlLockStore(client, options));
    await checkTables(store);
    return { store, close };
  }, close);
}

/** Waits for the first answer. Does not try again, as many failures may lock an account: the store explains its error. */
async function reached(
  answer: PromiseLike<unknown>,
  storeOf: (client: { query(): Promise<never> }) => LockStore,
): Promise<void> {
  try {
    await answer;
  } catch (error) {
    await storeOf({ query: () => Promise.reject(error) }).init?.();
  }
}

/** One table that can be read is enough: each command says what it lacks. If no table can be read, `init()` of the store says why. */
async function checkTables(store: PostgresLockStore | MysqlLockStore): Promise<void> {
  const reads = [(): Promise<unknown> => store.inspect([NO_LOCK]), () => store.history.instances()];
  for (const read of reads)
    try {
      await read();
      return;
    } catch {
      // The next table shows what is wrong.
    }
  await store.init();
}

async function closedIfItFails(
  open: () => Promise<OpenStore>,
  close: () => Promise<void>,
): Promise<OpenStore> {
  try {
    return await open();
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}
