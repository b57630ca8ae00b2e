import type { LockStore } from '../stores/lock-store.js';
import { MysqlLockStore } from '../stores/mysql/mysql-lock.store.js';
import { PostgresLockStore } from '../stores/postgres/postgres-lock.store.js';
import { RedisConnection } from '../stores/redis/redis-connection.js';
import { RedisLockStore } from '../stores/redis/redis-lock.store.js';
import { loadMysql, loadPostgres } from './drivers.js';
import { kindOf, type Place } from './place.js';

/** A store that is only read. */
export interface OpenStore {
  readonly store: LockStore;
  close(): Promise<void>;
}

/** How long to wait for a connection, and for an answer, ms. */
const LIMIT = 5_000;
/** Connections to a database at most. */
const CONNECTIONS = 4;
/** What a database shows of the connection. */
const NAME = 'nestjs-scheduler-lock';

/**
 * Connects to the store, for reading only: no table is created, and no right is tried by writing.
 *
 * @throws SchedulerLockConfigError if the credentials, the table or the driver do not work
 * @throws StoreUnavailableError if the store cannot be reached
 */
export function openStore(place: Place): Promise<OpenStore> {
  const kind = kindOf(place);
  if (kind === 'postgres') return openPostgres(place);
  return kind === 'mysql' ? openMysql(place) : openRedis(place);
}

/** The store itself would try its rights, by writing: who only reads may lack them. */
async function openRedis({ url, keyPrefix }: Place): Promise<OpenStore> {
  const connection = new RedisConnection(url);
  const close = (): Promise<void> => connection.close();
  return closedIfItFails(async () => {
    await connection.open();
    return { store: new RedisLockStore(await connection.connected(), { keyPrefix }), close };
  }, close);
}

async function openPostgres({ url, table, schema }: Place): Promise<OpenStore> {
  const Pool = await loadPostgres();
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: LIMIT,
    query_timeout: LIMIT,
    application_name: NAME,
  });
  // Of a connection that nobody uses at the moment: the next call tells of it.
  pool.on('error', () => undefined);
  const close = (): Promise<void> => pool.end();
  return closedIfItFails(async () => {
    const store = new PostgresLockStore(pool, { table, schema, migrate: false });
    await store.init();
    return { store, close };
  }, close);
}

async function openMysql({ url, table, schema }: Place): Promise<OpenStore> {
  const createPool = await loadMysql();
  const pool = createPool({ uri: url, connectionLimit: CONNECTIONS, connectTimeout: LIMIT });
  const close = (): Promise<void> => pool.end();
  return closedIfItFails(async () => {
    const store = new MysqlLockStore(pool, { table, schema, migrate: false });
    await store.init();
    return { store, close };
  }, close);
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
