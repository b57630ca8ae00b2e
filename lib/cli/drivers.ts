import { SchedulerLockConfigError } from '../errors.js';
import type { MysqlClient } from '../stores/mysql/client.js';
import type { PostgresClient } from '../stores/postgres/client.js';

interface Connection {
  release(): void;
}

interface PostgresPool extends PostgresClient {
  connect(): Promise<Connection>;
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<void>;
}

interface MysqlPool extends MysqlClient {
  getConnection(): Promise<Connection>;
  end(): Promise<void>;
}

type PostgresPools = new (config: object) => PostgresPool;
type MysqlPools = (config: object) => MysqlPool;

/**
 * The drivers of databases are those of the application, and optional. They are typed structurally, as in the stores.
 *
 * @throws SchedulerLockConfigError if `pg` cannot be loaded
 */
export async function loadPostgres(): Promise<PostgresPools> {
  const found = await load<{ Pool?: PostgresPools }>('pg', 'PostgreSQL', () => import('pg'));
  return found.Pool ?? Promise.reject(notLoaded('pg', 'PostgreSQL', 'it has no class "Pool"'));
}

/** @throws SchedulerLockConfigError if `mysql2` cannot be loaded */
export async function loadMysql(): Promise<MysqlPools> {
  const found = await load<{ createPool?: MysqlPools }>('mysql2', 'MySQL', () => import('mysql2/promise'));
  return found.createPool ?? Promise.reject(notLoaded('mysql2', 'MySQL', 'it has no function "createPool"'));
}

async function load<Driver extends object>(
  name: string,
  database: string,
  importIt: () => Promise<unknown>,
): Promise<Driver> {
  try {
    const whole = (await importIt()) as Driver & { default?: Driver };
    // A module that the loader only knows as CommonJS has no named exports.
    return { ...whole.default, ...whole };
  } catch (error) {
    const { code, message } = Object(error) as { code?: unknown; message?: unknown };
    const isMissing =
      String(code).endsWith('MODULE_NOT_FOUND') && new RegExp(`['"]${name}(/|['"])`).test(String(message));
    throw notLoaded(name, database, isMissing ? undefined : String(message));
  }
}

function notLoaded(name: string, database: string, why: string | undefined): SchedulerLockConfigError {
  const needed = `the package "${name}" is needed to connect to ${database} and`;
  return new SchedulerLockConfigError([
    why === undefined
      ? `${needed} is not installed. Run: npm install ${name}`
      : `${needed} could not be loaded: ${why.split('\n')[0]}.`,
  ]);
}
