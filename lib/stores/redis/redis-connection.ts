import { systemClock } from '../../clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../errors.js';
import { type WatchedClient, watchForFreeze } from './freeze-watch.js';
import { redisPlace } from './place.js';
import { describeError } from './redact.js';
import type { RedisClient } from './redis-client.js';

/**
 * The usual options of ioredis for one server or a group behind Sentinel; any other option of ioredis may be given
 * as well. The options that make calls fail fast are set by this library.
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

/** A URL (`redis://`, `rediss://`), ioredis options, or a client of yours, which is never closed by this library. */
export type RedisConnectionSource = string | RedisConnectionOptions | RedisClient;

/** A client of our own: what is needed beyond {@link RedisClient}. */
interface OwnRedisClient extends RedisClient, WatchedClient {}

type OwnClientFactory = () => Promise<OwnRedisClient>;

/** How long the start waits for a server that neither accepts nor refuses, ms. The connection is tried on after it. */
const START_LIMIT = 5_000;

/** How long a server may take to end a connection that is no longer used, ms. Then it is ended without it. */
const DISCONNECT_LIMIT = 100;

/** The client of a store, ours or the user's: opened once, watched, and closed if it is ours. */
export class RedisConnection {
  #client: RedisClient | undefined;
  readonly #create: OwnClientFactory | undefined;
  #stopWatching: (() => void) | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #onReady = (): void => this.#listeners.forEach((listener) => listener());

  /** Put by the client before every key. */
  readonly keyPrefix: string;
  /** Where it is, without anything that is secret. */
  readonly place: string;

  /** @throws SchedulerLockConfigError if `source` is none of what {@link RedisConnectionSource} lists */
  constructor(source: RedisConnectionSource) {
    const problem = connectionProblem(source);
    if (problem !== undefined) throw new SchedulerLockConfigError([problem]);
    this.place = redisPlace(source);
    if (isRedisClient(source)) {
      this.#client = source;
      this.keyPrefix = clientPrefix(source);
    } else {
      const target = typeof source === 'string' ? source : { ...source };
      this.keyPrefix = typeof target === 'string' ? '' : (target.keyPrefix ?? '');
      this.#create = () => createClient(target);
    }
  }

  get isCluster(): boolean {
    return this.#client?.isCluster === true;
  }

  client(): RedisClient {
    if (this.#client === undefined) {
      throw new StoreUnavailableError('Redis is not connected (the store has not been started).', {
        outcome: 'not-applied',
      });
    }
    return this.#client;
  }

  /**
   * Connects, or waits until the user's client has connected.
   *
   * @throws SchedulerLockConfigError if the server rejects the credentials, or the user's client has been closed
   * @throws StoreUnavailableError if the server cannot be reached; a client keeps trying by itself
   */
  async open(): Promise<void> {
    const client = (this.#client ??= await this.#create?.()) as RedisClient;
    if (this.#create !== undefined) {
      this.#stopWatching ??= watchForFreeze(client as OwnRedisClient, START_LIMIT, systemClock);
    }
    client.on('ready', this.#onReady);
    if (client.status === 'end') {
      throw new SchedulerLockConfigError(['connection: the Redis client that was given has been closed.']);
    }
    const connected = new Promise<void>((resolve, reject) => {
      const settle = (settled: () => void): void => {
        limit.cancel();
        client.off('ready', onReady);
        client.off('error', onError);
        settled();
      };
      const onReady = (): void => settle(resolve);
      const onError = (error: unknown): void => settle(() => reject(startError(error)));
      const onLimit = (): void => onError(new Error(`no connection within ${START_LIMIT} ms`));
      const limit = systemClock.setTimer(onLimit, START_LIMIT, { keepAlive: true });
      client.on('ready', onReady);
      client.on('error', onError);
      if (client.status === 'ready') onReady();
    });
    // A lazy client connects when it is told to; a failure reaches the `error` listener as well.
    if (client.status === 'wait') client.connect().catch(() => undefined);
    await connected;
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    const client = this.#client;
    client?.off('ready', this.#onReady);
    this.#stopWatching?.();
    if (client === undefined || this.#create === undefined) return;
    const ended = new Promise<void>((resolve) => client.on('end', () => resolve()));
    const connected = client.status === 'ready' || client.status === 'connect';
    (client as OwnRedisClient).disconnect();
    // A live connection ends with an event. Without one there is none, but a timer of ioredis that keeps the process alive.
    if (connected) return ended;
    await new Promise<void>((resolve) =>
      systemClock.setTimer(resolve, DISCONNECT_LIMIT + 10, { keepAlive: true }),
    );
  }
}

/** What is wrong with a connection, or `undefined`. Never quotes it: it may hold a password. */
export function connectionProblem(source: unknown): string | undefined {
  if (typeof source === 'string') {
    if (/^\/(?!\/)/.test(source)) return undefined; // a Unix socket; behind two slashes ioredis reads user, password and host
    if (source === '') {
      return 'connection: the URL is empty. Perhaps a variable of the environment is not set.';
    }
    if (!URL.canParse(source)) {
      return 'connection: this is not a URL. Write redis://host:6379 (rediss:// for TLS), or percent-encode special characters in the password.';
    }
    const { protocol, pathname, hostname, search, hash } = new URL(source);
    if (protocol !== 'redis:' && protocol !== 'rediss:') {
      return `connection: a Redis URL begins with redis:// or rediss://, this one with ${protocol}`;
    }
    // Then what comes before it counts as the host, and would be asked for, and be logged.
    if (hash !== '' || `${pathname}${search}`.includes('@')) {
      return 'connection: a "#", "/" or "?" cuts the user name or password of the Redis URL off. Percent-encode special characters there: encodeURIComponent(password).';
    }
    if (hostname === '') return 'connection: the Redis URL names no host.';
    if (!/^\/?\d*$/.test(pathname)) {
      return 'connection: the path of a Redis URL is the number of the database, such as redis://host:6379/2.';
    }
    return undefined;
  }
  if (typeof source !== 'object' || source === null) {
    return `connection: expected a URL, ioredis options or an ioredis client, got ${source === null ? 'null' : `a value of type ${typeof source}`}.`;
  }
  if (isRedisClient(source)) return undefined;
  const prototype: unknown = Object.getPrototypeOf(source);
  if (prototype !== Object.prototype && prototype !== null) {
    const name = (source as { constructor?: { name?: string } }).constructor?.name ?? 'unknown';
    return `connection: an object of class ${name} is no ioredis client. Pass an ioredis Redis or Cluster, its options, or a URL; clients of other libraries do not fit.`;
  }
  const { port, host } = source as RedisConnectionOptions;
  if (port !== undefined && !(Number.isInteger(Number(port)) && Number(port) > 0 && Number(port) < 65_536)) {
    return `connection.port: ${String(port)} is no port number.`;
  }
  if (host !== undefined && (typeof host !== 'string' || host === '')) {
    return 'connection.host: expected the name or address of a host.';
  }
  return undefined;
}

function isRedisClient(source: unknown): source is RedisClient {
  const client = source as Partial<RedisClient>;
  return (
    typeof client.evalsha === 'function' &&
    typeof client.on === 'function' &&
    typeof client.status === 'string'
  );
}

/** `keyPrefix` of the user's client; a Cluster keeps it in the options of its nodes as well. */
function clientPrefix(client: RedisClient): string {
  const { options } = client as { options?: { keyPrefix?: string; redisOptions?: { keyPrefix?: string } } };
  return options?.keyPrefix || options?.redisOptions?.keyPrefix || '';
}

function startError(error: unknown): Error {
  const message = describeError(error);
  if (message.startsWith('NOAUTH')) {
    return new SchedulerLockConfigError([
      `connection: Redis asks for a password and was given none, as in redis://:password@host:6379 (${message}).`,
    ]);
  }
  if (/^(WRONGPASS|NOPERM|ERR invalid password|ERR AUTH)/.test(message)) {
    return new SchedulerLockConfigError([`connection: Redis rejected the credentials: ${message}.`]);
  }
  return new StoreUnavailableError(`Redis cannot be reached: ${message}.`, { outcome: 'not-applied' });
}

async function createClient(target: string | RedisConnectionOptions): Promise<OwnRedisClient> {
  // The driver is optional and seen structurally: neither the package nor its types need it.
  let Redis: new (...target: unknown[]) => OwnRedisClient;
  try {
    ({ Redis } = (await import('ioredis')) as unknown as { Redis: typeof Redis });
  } catch (cause) {
    throw new SchedulerLockConfigError(
      [
        'connection: the package "ioredis" is needed to connect to Redis and is not installed. Run: npm install ioredis',
      ],
      { cause },
    );
  }
  // Fail fast: nothing waits in a queue, nothing is sent twice, and a frozen server is noticed.
  const options = {
    connectTimeout: START_LIMIT,
    retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times - 1, 10), 1_000) + Math.random() * 50,
    // After a failover the old master refuses writes: connecting again finds the new one.
    reconnectOnError: (error: Error) => error.message.includes('READONLY'),
    ...(typeof target === 'string' ? undefined : target),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: false,
    lazyConnect: false,
    disconnectTimeout: DISCONNECT_LIMIT,
  };
  const client = typeof target === 'string' ? new Redis(target, options) : new Redis(options);
  // Without a listener ioredis prints every failed attempt; what matters of them reaches the caller of a command.
  client.on('error', () => undefined);
  return client;
}
