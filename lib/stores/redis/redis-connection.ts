import { systemClock } from '../../clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../errors.js';
import {
  isRedisClient,
  type RedisClient,
  type RedisConnectionOptions,
  type RedisConnectionSource,
} from './connection-options.js';
import { loadDriver } from './driver.js';
import { isConnected, notConnected, type Patience, Readiness, unreachable } from './readiness.js';
import { describeError, describeRedis } from './redact.js';
import { SilenceWatch, type WatchedClient } from './silence-watch.js';
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

/** For a call that has waited. */
const AT_ONCE: Patience = { limit: 0 };

/** How long the start waits for a server that neither accepts nor refuses, ms. The client goes on trying after that. */
const START_LIMIT = 5_000;

/** How long the start waits for an answer before {@link wrongServer} checks the kind of the server, ms. */
const SILENCE = 1_000;

/**
 * How long a connection may owe an answer before it is compared with a fresh one, ms. On ours nothing else is under way, and a tick
 * whose connection has died is to have another one within the default `storeTimeout` of 2 s. On one of the user's are commands of
 * theirs.
 */
const OWN_SILENCE = 500;
const THEIR_SILENCE = 2_000;

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
  /** Lets calls wait for it. Nothing does before it is opened. */
  #readiness: Readiness | undefined;
  readonly #listeners = new Set<() => void>();
  /** Why calls would reach another database than the configured one. */
  #wrongDatabase: string | undefined;
  readonly #available = (): void => this.#listeners.forEach((listener) => listener());

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

  get isCluster(): boolean {
    return this.#client?.isCluster === true;
  }

  /** Whether a call would be sent at once. */
  get isConnected(): boolean {
    return this.#client !== undefined && this.#wrongDatabase === undefined && isConnected(this.#client);
  }

  /**
   * Calls `send` with the connected client: at once, or when it is connected, within the limit of the caller. Calls `failed` with a
   * StoreUnavailableError (`not-applied`) if that is known to fail, or takes too long. Nothing ever waits in the client.
   */
  use(patience: Patience, send: (client: RedisClient) => void, failed: (error: Error) => void): void {
    let client: RedisClient;
    try {
      client = this.#usable();
    } catch (error) {
      return failed(error as Error);
    }
    if (isConnected(client)) return send(client);
    if (this.#readiness === undefined || patience.limit === 0) return failed(notConnected(client));
    const sendLater = (): void => {
      try {
        this.use(AT_ONCE, send, failed);
      } catch (error) {
        failed(error as Error);
      }
    };
    this.#readiness.wait(patience, sendLater, failed);
  }

  /** The same with a promise. */
  connected(patience: Patience = {}): Promise<RedisClient> {
    return new Promise((resolve, reject) => this.use(patience, resolve, reject));
  }

  #usable(): RedisClient {
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
    const hears = own !== undefined || hearsErrors(client);
    const readiness = (this.#readiness = new Readiness(client, this.#available, hears));
    const watch = new SilenceWatch({
      connections: () => connectionsOf(client),
      silence: own === undefined ? THEIR_SILENCE : OWN_SILENCE,
      ...(own === undefined ? undefined : { limit: START_LIMIT }),
      clock: systemClock,
    });
    const stop = (): void => {
      watch.stop();
      this.#readiness = undefined;
      readiness.stop();
    };
    if (own === undefined) return { client, close: async () => stop() };
    this.#client = own;
    // After such an error the client goes on with database 0.
    own.on('error', (error) => (this.#wrongDatabase = databaseProblem(error) ?? this.#wrongDatabase));
    own.on('close', () => (this.#wrongDatabase = undefined));
    const close = (): Promise<void> => {
      stop();
      if (this.#client === own) this.#client = undefined;
      return closeClient(own);
    };
    return { client, close };
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

/** The connections of a client, as far as they can be watched. */
function connectionsOf(client: RedisClient): WatchedClient[] {
  const { nodes } = client as { nodes?: () => unknown[] };
  const all = (nodes === undefined ? [client] : nodes.call(client)) as Partial<WatchedClient>[];
  return all.filter((one): one is WatchedClient => one.commandQueue !== undefined);
}

const hearsErrors = (client: RedisClient): boolean => {
  const { listenerCount } = client as { listenerCount?: (event: string) => number };
  return (listenerCount?.call(client, 'error') ?? 0) > 0;
};

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
  return unreachable(message);
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
