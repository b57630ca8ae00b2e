import { type Clock, systemClock } from '../../base/clock.js';
import { SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import {
  isRedisClient,
  type RedisClient,
  type RedisConnectionOptions,
  type RedisConnectionSource,
} from './connection-options.js';
import { databaseProblem, firstConnection } from './first-connection.js';
import { NodeRedis, nodeRedis } from './node-redis.js';
import { type NodeRedisClient, nodeRedisKind } from './node-redis-kind.js';
import type { SubscribingClient } from './hints.js';
import { closeClient, createClient, type OwnRedisClient } from './own-client.js';
import { NO_WAITING, isConnected, notConnected, type Patience, Readiness } from './readiness.js';
import { describeRedis } from './redact.js';

/** A client with our listeners on it. */
interface Opened {
  readonly client: RedisClient;
  /** Removes the listeners, and closes the client if this library made it. */
  close(): Promise<void>;
}

/** A client of node-redis is seen as one of ioredis. */
type KnownSource = string | RedisConnectionOptions | RedisClient;

type OwnClientFactory = (more?: object) => Promise<OwnRedisClient>;

/** A client of ioredis. That of a Cluster takes the first nodes as its first argument. */
interface CopyableClient extends RedisClient {
  duplicate?(...overrides: (object | [])[]): SubscribingClient;
}

/** ioredis would subscribe again by itself, and leave a failure of that to the process as an unhandled rejection. */
const SUBSCRIBING = { autoResubscribe: false };

/** One connection of a client. */
interface OneConnection {
  /** Commands that were sent but not answered yet, the oldest in front: the server answers in this order. */
  readonly commandQueue: { peekFront(): { readonly command?: { readonly name?: string } } | undefined };
  readonly stream?: { readonly bytesRead: number; destroy(): void } | null;
}

/** What this library sends: a connection that owes the answer to something else may have to wait for it, as behind BLPOP. */
const OURS = /^(?:evalsha|eval|mget|info)$/i;
/** How often a client is connected anew at most because its server refuses writes, ms. Nothing helps who connects to a replica. */
const RENEWED_EVERY = 5_000;
/** How long answers have to be read that have come while the event loop was blocked, ms, twice: one timer may fire before they are. */
const MOMENT = 50;

/** The client of a store, ours or the user's: opened with the first application that uses it, closed with the last. */
export class RedisConnection {
  #client: RedisClient | undefined;
  readonly #create: OwnClientFactory | undefined;
  /** Applications that have opened the connection and not closed it. */
  #users = 0;
  /** The client that they share. */
  #opened: Promise<Opened> | undefined;
  /** Lets calls wait for the connection, from its opening on. */
  #readiness: Readiness | undefined;
  readonly #listeners = new Set<() => void>();
  /** When the client was last connected anew as its server refused a write, monotonic. */
  #renewedAt = -Infinity;
  /** Why calls would reach another database than the configured one. */
  #wrongDatabase: string | undefined;
  readonly #available = (): void => this.#listeners.forEach((listener) => listener());

  /** The prefix that the client puts before every key. */
  readonly keyPrefix: string;
  /** The address of the server for the log, without secrets. */
  readonly address: string;

  private readonly source: KnownSource;

  constructor(
    given: RedisConnectionSource,
    readonly clock: Clock = systemClock,
  ) {
    const source = (this.source = known(given));
    this.address = describeRedis(source);
    if (isRedisClient(source)) {
      this.#client = source;
      this.keyPrefix = clientPrefix(source);
    } else {
      const target = typeof source === 'string' ? source : { ...source };
      this.keyPrefix = typeof target === 'string' ? '' : (target.keyPrefix ?? '');
      this.#create = (more) => createClient(this.clock, target, more);
    }
  }

  get isCluster(): boolean {
    return this.#client?.isCluster === true;
  }

  /** What to do if Redis does not answer. Only a user's client may owe other answers that take their time. */
  get onSilence(): string | undefined {
    if (this.#create !== undefined) return undefined;
    if (this.source instanceof NodeRedis) return this.source.onSilence;
    return 'If that lasts while Redis is up, its connection may have died unnoticed: give your client `socketTimeout: 10_000`, if it has none.';
  }

  /** Whether a call would be sent at once. */
  get isConnected(): boolean {
    return this.#client !== undefined && this.#wrongDatabase === undefined && isConnected(this.#client);
  }

  /**
   * Calls `send` with the connected client: at once, or when it is connected, within the limit of the caller. Calls `failed` with a
   * StoreUnavailableError (`not-applied`) if the connection is known to fail, or takes too long. Nothing ever waits in the client.
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
    this.#readiness.wait(patience, () => this.use(NO_WAITING, send, failed), failed);
  }

  /** Promises a client that is connected. */
  connected(patience: Patience = {}): Promise<RedisClient> {
    return new Promise((resolve, reject) => this.use(patience, resolve, reject));
  }

  /**
   * A call was not answered: its connection may have died unnoticed. The client connects anew where it owes an answer to this library, and
   * no byte comes. Resolves when that connection is closed: the next call waits for another one.
   */
  async reconnect(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    const silent = connectionsOf(client).map((one) => ({ one, ...lookAt(one) }));
    for (let half = 0; half < 2; half++) await new Promise<void>((done) => this.clock.setTimer(done, MOMENT));
    this.#renew((one) => {
      const { oldest, bytesRead } = lookAt(one);
      const isSame = silent.some(
        (seen) => seen.one === one && seen.oldest === oldest && seen.bytesRead === bytesRead,
      );
      return isSame && OURS.test(oldest?.command?.name ?? '');
    });
  }

  /** After a failover the old primary may stay up, and keep its connections: connecting anew finds the next one. A Cluster leads to it. */
  isReadOnly(): void {
    const now = this.clock.monotonic();
    if (this.isCluster || now < this.#renewedAt + RENEWED_EVERY) return;
    this.#renewedAt = now;
    this.#renew(() => true);
  }

  /** The client makes these connections anew, if it connects again by itself. One that is being made is left to the client. */
  #renew(which: (one: OneConnection) => boolean): void {
    const client = this.#client;
    if (client?.status !== 'ready' || !connectsAgain(client)) return;
    for (const one of connectionsOf(client)) if (which(one)) one.stream?.destroy();
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
   * @throws SchedulerLockConfigError if the server rejects the credentials or the database, or if the user's client has
   *   been closed
   * @throws StoreUnavailableError if the server cannot be reached; the client keeps trying by itself
   */
  async open(): Promise<void> {
    this.#users += 1;
    const { client } = await (this.#opened ??= this.#prepare());
    if (client.status === 'end') {
      throw new SchedulerLockConfigError(['connection: the Redis client that was given has been closed.']);
    }
    const connected = firstConnection(this.clock, client);
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
    const readiness = (this.#readiness = new Readiness(client, {
      available: this.#available,
      // The server, or the network, is silent before the handshake is over. A user's client is the user's.
      stuck: () => void (own?.status === 'connect' && own.disconnect(true)),
      clock: this.clock,
      // A listener for errors on a user's client would hide them: ioredis prints those that nobody listens to. With node-redis
      // these end the process, so somebody has to.
      hearsErrors: own !== undefined || client instanceof NodeRedis,
    }));
    const stop = (): void => {
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
      return closeClient(this.clock, own);
    };
    return { client, close };
  }
}

const known = (source: RedisConnectionSource): KnownSource =>
  nodeRedisKind(source) === undefined ? (source as KnownSource) : nodeRedis(source as NodeRedisClient);

/** The connections of a client, as far as they can be seen. */
function connectionsOf(client: RedisClient): OneConnection[] {
  if (client instanceof NodeRedis) return client.isSingle ? [client] : [];
  const { nodes } = client as { nodes?: () => unknown[] };
  const all = (nodes === undefined ? [client] : nodes.call(client)) as Partial<OneConnection>[];
  return all.filter((one): one is OneConnection => one.commandQueue !== undefined);
}

const lookAt = ({ commandQueue, stream }: OneConnection) => ({
  oldest: commandQueue.peekFront(),
  bytesRead: stream?.bytesRead,
});

/** Whether a client connects again by itself: with `retryStrategy: null` one of ioredis does not. */
function connectsAgain(client: RedisClient): boolean {
  const { options } = client as { options?: { retryStrategy?: unknown } };
  return (
    client.isCluster === true || client instanceof NodeRedis || typeof options?.retryStrategy === 'function'
  );
}

/** `keyPrefix` of the user's client; a Cluster keeps it in the options of its nodes as well. */
function clientPrefix(client: RedisClient): string {
  const { options } = client as { options?: { keyPrefix?: string; redisOptions?: { keyPrefix?: string } } };
  return options?.keyPrefix || options?.redisOptions?.keyPrefix || '';
}
