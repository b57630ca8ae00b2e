import { foreignClient } from '../shared/foreign-clients.js';
import { type NodeRedisClient, nodeRedisKind } from './node-redis-kind.js';

/**
 * What this store needs of a client: `Redis` and `Cluster` of ioredis 5 and 6 fit. The store registers nothing on a user's
 * client beyond listeners for `ready`, `close` and, during the start, `error`. It never closes the client. It ends a connection
 * of the client, which then makes a new one, only if a call was not answered, and if the server refuses writes, as a replica does. Commands
 * that were under way are sent again or rejected, as the client's options say.
 */
export interface RedisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  // Method syntax on purpose: ioredis' overloads are narrower than these signatures.
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  eval(lua: string, numberOfKeys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  mget(...keys: string[]): Promise<(string | null)[]>;
  connect(): Promise<unknown>;
  on(event: string, listener: (argument?: unknown) => void): unknown;
  off(event: string, listener: (argument?: unknown) => void): unknown;
}

/** The further members of a client with which a server is looked at. */
export interface AskedClient extends RedisClient {
  info?(section: string): Promise<string>;
  scan(cursor: string, ...options: (string | number)[]): Promise<[cursor: string, keys: string[]]>;
  /** Only a Cluster has it. */
  nodes?(role: 'master'): AskedClient[];
}

/** A client for each primary. */
export const primaries = (client: AskedClient): AskedClient[] =>
  client.isCluster === true ? (client.nodes?.('master') ?? [client]) : [client];

/**
 * The usual options of ioredis for one server or a group behind Sentinel; any other option of ioredis may be given
 * as well. This library sets the options that make calls fail fast itself.
 */
export interface RedisConnectionOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly family?: number | undefined;
  readonly username?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly db?: number | undefined;
  readonly tls?: object | undefined;
  readonly keyPrefix?: string | undefined;
  readonly sentinels?: readonly object[] | null | undefined;
  readonly name?: string | null | undefined;
  readonly sentinelUsername?: string | null | undefined;
  readonly sentinelPassword?: string | null | undefined;
  readonly enableTLSForSentinelMode?: boolean | undefined;
  readonly natMap?: unknown;
  readonly connectionName?: string | null | undefined;
  readonly connectTimeout?: number | undefined;
  readonly socketTimeout?: number | undefined;
  readonly keepAlive?: number | undefined;
  readonly noDelay?: boolean | undefined;
  readonly protocol?: unknown;
  readonly retryStrategy?: unknown;
  readonly sentinelRetryStrategy?: unknown;
}

/** A URL (`redis://`, `rediss://`), ioredis options, or a client of yours (of ioredis or node-redis), which this library never closes. */
export type RedisConnectionSource = string | RedisConnectionOptions | RedisClient | NodeRedisClient;

/** What is wrong with a connection, or `undefined`. Never quotes it: it may hold a password. @internal */
export function connectionProblem(source: unknown): string | undefined {
  if (typeof source === 'string') return urlProblem(source);
  if (source === undefined) {
    return 'connection: it is undefined. Perhaps a variable of the environment is not set. Give the URL of your Redis.';
  }
  if (isRedisClient(source) || nodeRedisKind(source) !== undefined) return undefined;
  const expected = 'expected a URL, ioredis options or a client of ioredis or node-redis';
  const foreign = foreignClient(source, 'redis', ['a client of ioredis']);
  if (foreign !== undefined) return `connection: ${expected}, got ${foreign}`;
  if (typeof source !== 'object' || source === null) {
    return `connection: ${expected}, got ${source === null ? 'null' : `a value of type ${typeof source}`}.`;
  }
  const prototype: unknown = Object.getPrototypeOf(source);
  if (prototype !== Object.prototype && prototype !== null) {
    return `connection: an object of class ${classOf(source)} is no client of ioredis or node-redis. Pass an ioredis Redis or Cluster, its options, a client of node-redis, or a URL; clients of other libraries do not fit.`;
  }
  return partsProblem(source);
}

const classOf = (source: { constructor?: { name?: string } }): string =>
  source.constructor?.name ?? 'unknown';

function urlProblem(source: string): string | undefined {
  if (/^\/(?!\/)/.test(source)) return undefined; // a Unix socket; behind two slashes ioredis reads user, password and host
  if (source === '') {
    return 'connection: the URL is empty. Perhaps a variable of the environment is not set.';
  }
  if (!URL.canParse(source)) {
    return 'connection: this is not a URL. Write redis://host:6379 (rediss:// for TLS), or percent-encode special characters in the password.';
  }
  const { protocol, pathname, hostname, search, hash, username, password } = new URL(source);
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    return `connection: a Redis URL begins with redis:// or rediss://, this one with ${protocol} A database needs another store: docs/stores/choose.md.`;
  }
  // A parser would take the part before this character for the host, look it up, and log it.
  if (hash !== '' || `${pathname}${search}`.includes('@')) {
    return 'connection: a "#", "/" or "?" cuts the user name or password of the Redis URL off. Percent-encode special characters there: encodeURIComponent(password).';
  }
  if (![username, password].every(isDecodable)) {
    return 'connection: a "%" in the user name or password of the Redis URL encodes no character. Write %25 for it.';
  }
  if (hostname === '') return 'connection: the Redis URL names no host.';
  if (!/^\/?\d*$/.test(pathname)) {
    return 'connection: the path of a Redis URL is the number of the database, such as redis://host:6379/2.';
  }
  return undefined;
}

function partsProblem(source: object): string | undefined {
  const { port, host, db } = source as RedisConnectionOptions;
  if (port !== undefined && !(Number.isInteger(Number(port)) && Number(port) > 0 && Number(port) < 65_536)) {
    return `connection.port: ${String(port)} is no port number.`;
  }
  if (host !== undefined && (typeof host !== 'string' || host === '')) {
    return 'connection.host: expected the name or address of a host.';
  }
  if (db !== undefined && !(Number.isInteger(Number(db)) && Number(db) >= 0)) {
    return `connection.db: ${String(db)} is no number of a database.`;
  }
  return undefined;
}

/** Whether a source is a client of ioredis, judged by the members that this library needs. @internal */
export function isRedisClient(source: unknown): source is RedisClient {
  const client = Object(source) as Partial<RedisClient>;
  return (
    typeof client.evalsha === 'function' &&
    typeof client.on === 'function' &&
    typeof client.status === 'string'
  );
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
