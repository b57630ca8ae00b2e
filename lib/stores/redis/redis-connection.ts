import { systemClock } from '../../clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../errors.js';
import {
  isRedisClient,
  type RedisClient,
  type RedisConnectionOptions,
  type RedisConnectionSource,
} from './connection-options.js';
import { loadDriver } from './driver.js';
import { type WatchedClient, watchForFreeze } from './freeze-watch.js';
import { describeError, describeRedis } from './redact.js';
import { wrongServer } from './wrong-server.js';

/** A client that this library creates. */
interface OwnRedisClient extends RedisClient, WatchedClient {}

/** A client on which a channel can be heard. */
export interface SubscribingClient {
  readonly status: string;
  connect(): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  on(event: 'ready' | 'close' | 'error', listener: () => void): unknown;
  disconnect(): void;
}

/** A client with our listeners on it. */
interface Opened {
  readonly client: RedisClient;
  /** Takes the listeners off, and closes the client if it is ours. */
  close(): Promise<void>;
}

type OwnClientFactory = (more?: object) => Promise<OwnRedisClient & SubscribingClient>;

/** A client of ioredis: one of a Cluster takes the nodes to start with first. */
interface CopyableClient extends RedisClient {
  duplicate?(...overrides: (object | [])[]): SubscribingClient;
}

/** ioredis would subscribe again by itself, and leave a failure of that to the process as an unhandled rejection. */
const SUBSCRIBING = { autoResubscribe: false };

/** How long the start waits for a server that neither accepts nor refuses, ms. The client goes on trying after that. */
const START_LIMIT = 5_000;

/** How long the start waits for an answer before {@link wrongServer} checks the kind of the server, ms. */
const SILENCE = 1_000;

/** How long a server may take to close its side of a connection, ms. After that, the client closes it alone. */
const DISCONNECT_LIMIT = 100;

/** The client of a store, ours or the user's: opened with the first application that uses it, closed with the last. */
export class RedisConnection {
  #client: RedisClient | undefined;
  readonly #create: OwnClientFactory | undefined;
  /** Applications that have opened the connection and not closed it. */
  #users = 0;
  /** The client that they share. */
  #opened: Promise<Opened> | undefined;
  readonly #listeners = new Set<() => void>();
  /** Why calls would reach another database than the configured one. */
  #wrongDatabase: string | undefined;
  readonly #onReady = (): void => this.#listeners.forEach((listener) => listener());

  /** The prefix that the client puts before every key. */
  readonly keyPrefix: string;
  /** The place of the server for the log, without secrets. */
  readonly place: string;

  constructor(private readonly source: RedisConnectionSource) {
    this.place = describeRedis(source);
    if (isRedisClient(source)) {
      this.#client = source;
      this.keyPrefix = clientPrefix(source);
    } else {
      const target = typeof source === 'string' ? source : { ...source };
      this.keyPrefix = typeof target === 'string' ? '' : (target.keyPrefix ?? '');
      this.#create = (more) => createClient(target, more);
    }
  }

  /** The name of the user, if one was given. */
  get user(): string | undefined {
    const { source } = this;
    if (typeof source === 'string')
      return URL.canParse(source) ? decoded(new URL(source).username) : undefined;
    const { options } = source as { options?: { redisOptions?: object } };
    const given = isRedisClient(source) ? (options?.redisOptions ?? options) : source;
    return (given as RedisConnectionOptions | undefined)?.username || undefined;
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
    if (this.#wrongDatabase !== undefined) {
      throw new StoreUnavailableError(this.#wrongDatabase, { outcome: 'not-applied', refused: true });
    }
    return this.#client;
  }

  /**
   * Connects, or waits until the user's client has connected.
   *
   * @throws SchedulerLockConfigError if the server rejects the credentials or the database, if it is the wrong kind of
   *   server (TLS, HTTP), or if the user's client has been closed
   * @throws StoreUnavailableError if the server cannot be reached; the client keeps trying by itself
   */
  async open(): Promise<void> {
    this.#users += 1;
    const { client } = await (this.#opened ??= this.#prepare());
    if (client.status === 'end') {
      throw new SchedulerLockConfigError(['connection: the Redis client that was given has been closed.']);
    }
    const connected = new Promise<void>((resolve, reject) => {
      const settle = (settled: () => void): void => {
        limit.cancel();
        silence.cancel();
        client.off('ready', onReady);
        client.off('error', onError);
        settled();
      };
      const onReady = (): void => settle(resolve);
      const fail = (error: Error): void => settle(() => reject(error));
      const look = async (failure?: Error): Promise<void> => {
        // An error of this check must not hide the failure.
        const problem = await wrongServer(this.source).catch(() => undefined);
        if (problem !== undefined) fail(new SchedulerLockConfigError([problem]));
        else if (failure !== undefined) fail(failure);
      };
      const onError = (reason: unknown): void => {
        const error = startError(reason);
        if (error instanceof SchedulerLockConfigError) return fail(error);
        // The client tries again meanwhile, and may be ready before the check has ended.
        void look(error);
      };
      const onLimit = (): void => fail(startError(new Error(`no connection within ${START_LIMIT} ms`)));
      const limit = systemClock.setTimer(onLimit, START_LIMIT, { keepAlive: true });
      // A server without TLS takes a TLS handshake for an unfinished line, and does not answer.
      const silence = systemClock.setTimer(() => void look(), SILENCE, { keepAlive: true });
      client.on('ready', onReady);
      client.on('error', onError);
      if (client.status === 'ready') onReady();
    });
    // A lazy client connects only on demand. A failure reaches the `error` listener as well.
    if (client.status === 'wait') client.connect().catch(() => undefined);
    await connected;
  }

  /** Another connection to the same server, which the caller closes; `undefined` if the user's client cannot be copied. */
  async another(): Promise<SubscribingClient | undefined> {
    if (this.#create !== undefined) return this.#create(SUBSCRIBING);
    const client: CopyableClient | undefined = this.#client;
    if (client?.isCluster === true) return client.duplicate?.([], SUBSCRIBING);
    return client?.duplicate?.(SUBSCRIBING);
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#users = Math.max(0, this.#users - 1);
    if (this.#users > 0) return;
    const opened = this.#opened;
    this.#opened = undefined;
    const prepared = await opened?.catch(() => undefined);
    await prepared?.close();
  }

  async #prepare(): Promise<Opened> {
    const own = await this.#create?.();
    const client = own ?? (this.source as RedisClient);
    client.on('ready', this.#onReady);
    if (own === undefined) return { client, close: async () => void client.off('ready', this.#onReady) };
    this.#client = own;
    const stopWatching = watchForFreeze(own, START_LIMIT, systemClock);
    // After such an error the client goes on with database 0.
    own.on('error', (error) => (this.#wrongDatabase = databaseProblem(error) ?? this.#wrongDatabase));
    own.on('close', () => (this.#wrongDatabase = undefined));
    const close = (): Promise<void> => {
      stopWatching();
      if (this.#client === own) this.#client = undefined;
      return closeClient(own);
    };
    return { client, close };
  }
}

/** A part of a URL; `undefined` if it is empty, or cannot be read. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part) || undefined;
  } catch {
    return undefined;
  }
}

async function closeClient(client: OwnRedisClient): Promise<void> {
  const ended = new Promise<void>((resolve) => client.on('end', () => resolve()));
  const connected = client.status === 'ready' || client.status === 'connect';
  client.disconnect();
  // A live connection ends with an event. Otherwise there is no event, but a timer of ioredis keeps the process alive.
  if (connected) return ended;
  await new Promise<void>((resolve) =>
    systemClock.setTimer(resolve, DISCONNECT_LIMIT + 10, { keepAlive: true }),
  );
}

/** `keyPrefix` of the user's client; a Cluster keeps it in the options of its nodes as well. */
function clientPrefix(client: RedisClient): string {
  const { options } = client as { options?: { keyPrefix?: string; redisOptions?: { keyPrefix?: string } } };
  return options?.keyPrefix || options?.redisOptions?.keyPrefix || '';
}

/** The problem if the server could not carry out a SELECT. Such an error is emitted, but the connection counts as ready. */
function databaseProblem(error: unknown): string | undefined {
  const message = describeError(error);
  return /\bDB index\b|SELECT is not allowed/.test(message)
    ? `Redis refused the number of the database (${message}).`
    : undefined;
}

function startError(error: unknown): Error {
  const wrongDatabase = databaseProblem(error);
  if (wrongDatabase !== undefined) {
    return new SchedulerLockConfigError([
      `connection: ${wrongDatabase} Give one that it has, or none: \`keyPrefix\` keeps applications apart as well.`,
    ]);
  }
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

async function createClient(
  target: string | RedisConnectionOptions,
  more: object = {},
): Promise<OwnRedisClient & SubscribingClient> {
  const Redis = await loadDriver<OwnRedisClient & SubscribingClient>();
  // Fail fast: no command waits in a queue, and no command is sent twice.
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
    ...more,
  };
  const client = typeof target === 'string' ? new Redis(target, options) : new Redis(options);
  // Without a listener ioredis prints every failed attempt. The caller of a command gets the relevant errors anyway.
  client.on('error', () => undefined);
  return client;
}
