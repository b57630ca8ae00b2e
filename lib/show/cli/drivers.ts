import { SchedulerLockConfigError } from '../../base/errors.js';
import { notLoaded } from '../../base/wording.js';
import type { MysqlClient } from '../../stores/mysql/client.js';
import type { PostgresClient } from '../../stores/postgres/client.js';

interface PostgresPool extends PostgresClient {
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<void>;
}

interface MysqlPool extends MysqlClient {
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
  return load('pg', 'PostgreSQL', 'Pool', () => import('pg'));
}

/** @throws SchedulerLockConfigError if `mysql2` cannot be loaded */
export async function loadMysql(): Promise<MysqlPools> {
  return load('mysql2', 'MySQL', 'createPool', () => import('mysql2/promise'));
}

async function load<Part>(
  name: string,
  database: string,
  part: string,
  importIt: () => Promise<unknown>,
): Promise<Part> {
  try {
    const whole = (await importIt()) as Record<string, Part> & { default?: Record<string, Part> };
    // A module that the loader only knows as CommonJS has no named exports.
    const found = whole[part] ?? whole.default?.[part];
    if (found !== undefined) return found;
    throw new Error(`it has no ${JSON.stringify(part)}.`);
  } catch (error) {
    throw new SchedulerLockConfigError([
      `the package "${name}" is needed to connect to ${database} and ${notLoaded(name, error)}`,
    ]);
  }
}
