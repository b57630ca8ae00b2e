import { asClause, messageOf } from '../../base/wording.js';

/*
 * Texts for logs and errors, made only from parts that are no secret.
 */

/** The place in our script where an error occurred, as Redis reports it: of no use to a reader. */
const POSITION = / script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/**
 * The message of an error as a part of a sentence: without a full stop, and without secrets (credentials in a URL). Keeps
 * nothing else of the error, as ioredis attaches the failed command, with its arguments, to its errors.
 */
export function describeError(error: unknown): string {
  const message = error instanceof Error ? messageOf(error) : String(error);
  return asClause(message.replace(POSITION, ''));
}

/** The options of ioredis that say where the server is. */
interface Address {
  readonly host?: string | null | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly db?: number | undefined;
  readonly sentinels?: readonly object[] | null | undefined;
  readonly name?: string | null | undefined;
}

const DEFAULT_PORT = 6379;

/**
 * What the log calls a Redis: its kind and its address.
 *
 * @param source a `RedisConnectionSource`
 */
export function describeRedis(source: string | object): string {
  if (typeof source === 'string') {
    // A Unix socket; options may follow as in a URL.
    if (!URL.canParse(source)) return `Redis ${source.replace(/\?.*$/, '')}`;
    const { hostname, port, pathname } = new URL(source);
    return server(hostname, port || DEFAULT_PORT, pathname.slice(1));
  }
  if ('isCluster' in source && source.isCluster === true) return 'a Redis Cluster';
  const options = 'evalsha' in source ? (source as { options?: Address }).options : (source as Address);
  if (!options) return 'Redis';
  const { port, path, db, sentinels, name } = options;
  const host = options.host ?? 'localhost';
  if (sentinels) return name ? `Redis, the master "${name}" of Sentinel` : 'Redis, the master of Sentinel';
  // A text that is no path and no host name may hold a password.
  if (path) return path.includes('://') ? 'Redis' : `Redis ${path}`;
  return /^[\w.:%-]+$/.test(host) ? server(host, port ?? DEFAULT_PORT, db) : 'Redis';
}

function server(host: string, port: number | string, database: number | string | undefined): string {
  return `Redis ${host}:${port}${Number(database ?? 0) > 0 ? `, database ${database}` : ''}`;
}
