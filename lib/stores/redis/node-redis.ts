import { StoreUnavailableError } from '../../base/errors.js';
import type { RedisClient } from './connection-options.js';
import { type NodeRedisClient, type NodeRedisKind } from './node-redis-kind.js';
import {
  type AnyClient,
  type ClusterNode,
  type Heard,
  type Listener,
  NodeRedisState,
} from './node-redis-state.js';
import type { SubscribingClient } from './hints.js';
import type { WatchedClient } from './silence-watch.js';

/** Answers come as Redis gives them, whatever mapping of types the client has. */
const AS_THEY_ARE = { typeMapping: {} };

/** How long a connection for one answer may take, ms. */
const FRESH_LIMIT = 1_000;

/** Errors of the server begin with a code such as `WRONGTYPE` or `ERR`; those of the client and of the network with a word. */
const REPLY = /^[A-Z][A-Z0-9_-]+ /;

/** A client of node-redis (the package `redis`), seen as one of ioredis: the store knows only those. */
export class NodeRedis extends NodeRedisState implements RedisClient {
  /** The options that this library reads, as ioredis has them. */
  readonly options: object;

  /** For the watch over silent connections. Clients of a Cluster and of Sentinels manage theirs themselves. */
  readonly watched: WatchedClient | undefined;
  /** Our commands that are not answered, the oldest in front. */
  readonly #underWay = new Set<{ readonly command: { readonly name: string } }>();
  #answers = 0;

  constructor(client: AnyClient) {
    super(client);
    this.options = optionsOf(client, this.kind);
    this.watched = this.kind === 'client' ? this.#watch() : undefined;
  }

  get isCluster(): boolean {
    return this.kind === 'cluster';
  }

  /** What to say of the client at the start. */
  get warning(): string | undefined {
    const options = this.kind === 'cluster' ? this.client._options?.defaults : this.client.options;
    // The options of a Sentinel client cannot be read.
    if (this.kind === 'sentinel' || options?.disableOfflineQueue === true) return undefined;
    const advice =
      this.kind === 'cluster'
        ? 'createCluster() `defaults: { disableOfflineQueue: true }`'
        : 'createClient() `disableOfflineQueue: true`';
    return (
      'The node-redis client keeps commands while it is not connected, and sends them later: one of a lock may come when nobody waits ' +
      `for it any more, and then has to be taken back. Give ${advice}.`
    );
  }

  /** What to do if Redis does not answer. */
  get onSilence(): string {
    const where = {
      client: 'your client',
      cluster: 'your Cluster, in `defaults`,',
      sentinel: 'your Sentinels, in `nodeClientOptions`,',
    }[this.kind];
    return (
      `If that lasts while Redis is up, its connection may have died unnoticed: give ${where} ` +
      '`pingInterval: 2_000` and `socket: { socketTimeout: 5_000, reconnectStrategy: () => 500 }`. (Without a `reconnectStrategy` ' +
      'node-redis does not connect again after such a timeout.)'
    );
  }

  evalsha(sha: string, numberOfKeys: number, ...rest: (string | number)[]): Promise<unknown> {
    return this.#script('EVALSHA', sha, numberOfKeys, rest);
  }

  eval(lua: string, numberOfKeys: number, ...rest: (string | number)[]): Promise<unknown> {
    return this.#script('EVAL', lua, numberOfKeys, rest);
  }

  async mget(...keys: string[]): Promise<(string | null)[]> {
    const stored = this.#prefixed(keys);
    return (await this.#send(['MGET', ...stored], stored[0])) as (string | null)[];
  }

  async info(section: string): Promise<string> {
    return String(await this.#send(['INFO', section]));
  }

  async scan(...args: (string | number)[]): Promise<[cursor: string, keys: string[]]> {
    const [cursor, keys] = (await this.#send(['SCAN', ...args.map(String)])) as [string, string[]];
    return [String(cursor), keys];
  }

  /** The nodes of a Cluster. */
  nodes(): Pick<NodeRedis, 'info' | 'scan'>[] {
    const { masters = [] } = this.client;
    const of = async (node: ClusterNode): Promise<NodeRedis> =>
      new NodeRedis((await this.client.nodeClient?.(node)) ?? this.client);
    return masters.map((node) => ({
      info: async (section) => (await of(node)).info(section),
      scan: async (...args) => (await of(node)).scan(...args),
    }));
  }

  #script(command: string, what: string, count: number, rest: (string | number)[]): Promise<unknown> {
    const texts = rest.map(String);
    const keys = this.#prefixed(texts.slice(0, count));
    return this.#send([command, what, String(count), ...keys, ...texts.slice(count)], keys[0]);
  }

  /** Adds the client's prefix: the client does not add it to commands that are sent as they are. */
  #prefixed(keys: string[]): string[] {
    const prefix = this.client._keyPrefix ?? '';
    return prefix === '' ? keys : keys.map((key) => prefix + key);
  }

  async #send(args: string[], key?: string): Promise<unknown> {
    const send = this.client.sendCommand.bind(this.client) as (...all: unknown[]) => Promise<unknown>;
    const sent = { command: { name: args[0] ?? '' } };
    this.#underWay.add(sent);
    try {
      // Not sent as a reading command: a replica can lag behind.
      if (this.kind === 'cluster') return await send(key, false, args, AS_THEY_ARE);
      if (this.kind === 'sentinel') return await send(false, args, AS_THEY_ARE);
      return await send(args, AS_THEY_ARE);
    } catch (error) {
      throw this.#asIoredisSays(error);
    } finally {
      this.#underWay.delete(sent);
      this.#answers += 1;
    }
  }

  /**
   * What the watch looks at. Only our own commands are visible: while others are under way, one of them may block the
   * connection, as BLPOP does, and the watch leaves it alone.
   */
  #watch(): WatchedClient {
    const { client } = this;
    const isAlone = (): boolean => client._getQueue?.().pendingCount === this.#underWay.size;
    const answers = (): number => this.#answers;
    const status = (): string => this.status;
    const renew = (): void => this.renew();
    return {
      get status() {
        return status();
      },
      commandQueue: { peekFront: () => (isAlone() ? this.#underWay.values().next().value : undefined) },
      stream: {
        get bytesRead() {
          return answers();
        },
        writableLength: 0,
        destroy: renew,
      },
      disconnect: renew,
      duplicate: () => {
        const socket = { ...client.options?.socket, connectTimeout: FRESH_LIMIT, reconnectStrategy: false };
        return new NodeRedisSubscriber(client.duplicate?.({ socket, pingInterval: 0 }) ?? client, true);
      },
    };
  }

  #asIoredisSays(error: unknown): Error {
    const { message } = error instanceof Error ? error : new Error(String(error));
    if (REPLY.test(message)) {
      this.refused(message);
      return Object.assign(new Error(message), { name: 'ReplyError' });
    }
    // Sentinels send a command again: it may have been sent before.
    if (this.kind !== 'sentinel' && /^The client is (?:offline|closed)$/.test(message)) {
      return new StoreUnavailableError('Redis is not connected (the connection has just been lost).', {
        outcome: 'not-applied',
      });
    }
    return new Error(message);
  }

  /** The server has answered with an error. */
  protected refused(_message: string): void {
    // How a user's client connects is up to the user.
  }

  /** Another connection that can subscribe to a channel. Clients of a Cluster and of Sentinels make one for that themselves. */
  duplicate(): SubscribingClient {
    const own = this.kind === 'client' ? this.client.duplicate?.() : undefined;
    return new NodeRedisSubscriber(own ?? this.client, own !== undefined);
  }
}

/** Subscribes to one channel. */
export class NodeRedisSubscriber extends NodeRedis implements SubscribingClient {
  #called: (channel: string, message: string) => void = () => undefined;
  #channel: string | undefined;
  /** One function for all subscriptions: node-redis calls each listener of a channel, and keeps them across connections. */
  readonly #hear: Heard = (message, channel) => this.#called(channel, message);

  /** @param isOurs whether nobody else uses the client */
  constructor(
    client: NodeRedisClient,
    private readonly isOurs: boolean,
  ) {
    super(client as AnyClient);
  }

  override on(event: 'message', listener: (channel: string, message: string) => void): void;
  override on(event: string, listener: Listener): void;
  override on(event: string, listener: Listener | ((channel: string, message: string) => void)): void {
    if (event === 'message') this.#called = listener;
    else super.on(event, listener as Listener);
  }

  /** After a failover the old primary refuses writes: connecting again finds the new one. */
  protected override refused(message: string): void {
    if (this.isOurs && message.startsWith('READONLY ')) this.renew();
  }

  async subscribe(channel: string): Promise<void> {
    this.#channel = channel;
    await this.client.subscribe(channel, this.#hear);
  }

  disconnect(): void {
    const { client } = this;
    this.stop();
    if (!this.isOurs) {
      if (this.#channel !== undefined)
        void client.unsubscribe(this.#channel, this.#hear).catch(() => undefined);
      return;
    }
    client.on('error', () => undefined);
    if (client.isOpen) client.destroy();
  }
}

/** The options by their names in ioredis. */
function optionsOf(client: AnyClient, kind: NodeRedisKind): object {
  const { username, database, socket } =
    (kind === 'cluster' ? client._options?.defaults : client.options) ?? {};
  const { host, port, path, family, tls, socketTimeout } = socket ?? {};
  return {
    keyPrefix: client._keyPrefix,
    username,
    db: database,
    host,
    port,
    path,
    family,
    tls,
    socketTimeout,
    ...(kind === 'sentinel' ? { sentinels: [] } : undefined),
  };
}
