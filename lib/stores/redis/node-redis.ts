import { EventEmitter } from 'node:events';
import { type Clock, systemClock, type Timer } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import type { RedisClient } from './connection-options.js';
import type { SubscribingClient } from './hints.js';
import { type NodeRedisClient, type NodeRedisKind, nodeRedisKind } from './node-redis-kind.js';

/** The members that are used, of all kinds of clients, and of the versions 5 and 6. */
interface AnyClient extends NodeRedisClient {
  readonly isReady?: boolean;
  /** How many times it has been connected. */
  readonly socketEpoch?: number;
  readonly options?: ClientOptions;
  /** Of a Cluster. */
  readonly _options?: { readonly defaults?: ClientOptions };
  /** Only version 6 has that. */
  readonly _keyPrefix?: string;
  readonly masters?: readonly { readonly client?: AnyClient | undefined }[];
  /** How many commands are under way, ours and others. Older ones do not have it. */
  _getQueue?(): { readonly pendingCount?: number };
  nodeClient?(node: object): Promise<AnyClient> | AnyClient;
  getMasterNode?(): unknown;
  duplicate?(): AnyClient;
  subscribe(channel: string, listener: Heard): Promise<unknown>;
  unsubscribe(channel: string, listener: Heard): Promise<unknown>;
  destroy(): unknown;
}

type ClientOptions = { readonly database?: number; readonly socket?: object };
type Heard = (message: string, channel: string) => void;
type Listener = (...args: unknown[]) => void;

/** How often to look at a client that is not connected, ms. */
const LOOK_EVERY = 100;
/** The pause before a Cluster or Sentinels that could not be reached are tried again, ms: they give up themselves. */
const PAUSE = 1_000;
/** Events after which a client may have become connected, or disconnected. */
const CHANGES = 'ready reconnecting end disconnect node-disconnect topology-change'.split(' ');
const ERRORS = ['error', 'node-error', 'client-error'];
/** Errors of the server begin with a code such as `WRONGTYPE` or `ERR`; those of the client and of the network with a word. */
const REPLY = /^[A-Z][A-Z0-9_-]+ /;

/**
 * A client of node-redis (the package `redis`), seen as one of ioredis: the store knows only those.
 *
 * The events of node-redis, and the meaning of `isReady`, differ by kind and version. So this class looks at the state after each event,
 * and again and again while the client is not connected.
 */
export class NodeRedis implements RedisClient, SubscribingClient {
  /** The options that this library reads, as ioredis has them. */
  readonly options: object;
  /** Our commands without an answer, the oldest in front; none while others are under way, one of which may block the connection. */
  readonly commandQueue = {
    peekFront: () =>
      this.#client._getQueue?.().pendingCount === this.#underWay.size ? [...this.#underWay][0] : undefined,
  };
  readonly #kind: NodeRedisKind;
  readonly isCluster: boolean;
  /** Whether it can be connected anew: clients of a Cluster and of Sentinels manage their connections themselves. */
  readonly isSingle: boolean;
  readonly #client: AnyClient;
  readonly #underWay = new Set<{ readonly command: { readonly name: string } }>();
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #isHeard = (): boolean => this.#events.eventNames().length > 0;
  #timer: Timer | undefined;
  /** What the last look has shown. */
  #connected = false;
  readonly #channels = new Set<string>();
  /** One function for all subscriptions: node-redis calls each listener of a channel, and keeps them across connections. */
  readonly #hear: Heard = (message, channel) => void this.#events.emit('message', channel, message);

  /** @param isOurs whether nobody else uses the client */
  constructor(
    client: NodeRedisClient,
    private readonly isOurs = false,
    private readonly clock: Clock = systemClock,
  ) {
    this.#client = client as AnyClient;
    this.#kind = nodeRedisKind(client) ?? 'client';
    this.isCluster = this.#kind === 'cluster';
    this.isSingle = this.#kind === 'client';
    const { options, _options, _keyPrefix: keyPrefix } = this.#client;
    const { database: db, socket } = (this.isCluster ? _options?.defaults : options) ?? {};
    const sentinels = this.#kind === 'sentinel' ? { sentinels: [] } : undefined;
    this.options = { keyPrefix, db, ...socket, ...sentinels };
  }

  /** What to do if Redis does not answer. */
  readonly onSilence =
    'If that lasts while Redis is up, its connection may have died unnoticed: give your client (a Cluster in `defaults`, Sentinels in ' +
    '`nodeClientOptions`) `pingInterval: 2_000` and `socket: { socketTimeout: 5_000, reconnectStrategy: () => 500 }`.';

  /** Clients of a Cluster and of Sentinels do not show whether they have been closed. */
  get status(): 'ready' | 'connecting' | 'reconnecting' | 'end' | 'wait' {
    const { isOpen, socketEpoch = 0 } = this.#client;
    if (this.#isConnected()) return 'ready';
    if (isOpen) return socketEpoch > 0 ? 'reconnecting' : 'connecting';
    return socketEpoch > 0 ? 'end' : 'wait';
  }

  /** With Sentinels, `isReady` stays true while there is no master. A Cluster without any node serves nobody. */
  #isConnected(): boolean {
    const { isOpen, isReady, masters = [] } = this.#client;
    if (!isOpen || isReady === false) return false;
    if (this.#kind === 'sentinel') return this.#client.getMasterNode?.() !== undefined;
    // A node without a client gets one when it is needed.
    return this.isSingle || masters.some(({ client }) => client === undefined || client.isReady === true);
  }

  /** Clients of a Cluster and of Sentinels give up: they try again as long as somebody listens. */
  async connect(): Promise<void> {
    try {
      await this.#client.connect();
      this.#look();
    } catch (error) {
      this.#tell(error);
      if (this.isSingle) throw error;
      this.clock.setTimer(() => {
        if (this.#isHeard() && !this.#client.isOpen) void this.connect();
      }, PAUSE);
    }
  }

  /** The connection to a single server. The client has no method that only replaces it. */
  readonly stream = {
    /** Grows with each answer, which is all that can be seen. */
    bytesRead: 0,
    destroy: (): void => {
      if (!this.#client.isOpen) return;
      this.#attach('off');
      this.#client.destroy();
      // Its events report a failure.
      this.#client.connect().catch(() => undefined);
      this.#attach('on');
      this.#look();
    },
  };

  on(event: string, listener: Listener | ((channel: string, message: string) => void)): void {
    const isFirst = !this.#isHeard();
    this.#events.on(event, listener as Listener);
    if (!isFirst) return;
    this.#attach('on');
    this.#connected = this.status === 'ready';
    this.#look();
  }

  off(event: string, listener: Listener): void {
    this.#events.off(event, listener);
    if (!this.#isHeard()) this.#attach('off');
  }

  /** Without a listener for `error` the process would end with the connection. */
  #attach(how: 'on' | 'off'): void {
    for (const event of CHANGES) this.#client[how](event, this.#look);
    for (const event of ERRORS) this.#client[how](event, this.#tell);
    if (how === 'off') this.#timer?.cancel();
  }

  readonly #look = (): void => {
    const before = this.#connected;
    this.#connected = this.status === 'ready';
    if (before !== this.#connected) this.#events.emit(before ? 'close' : 'ready');
    this.#timer?.cancel();
    // A closed client needs no further looks.
    if (this.#connected || !this.#isHeard() || this.status === 'end') return;
    this.#timer = this.clock.setTimer(this.#look, LOOK_EVERY);
  };

  /** An error of a client that is not connected comes from a try to connect. Some kinds wrap it in an object, or give a text. */
  readonly #tell = (given: unknown): void => {
    const { error = given } = Object(given) as { error?: unknown };
    const hasFailed = !this.#connected;
    if (this.#events.listenerCount('error') > 0) this.#events.emit('error', error);
    this.#look();
    if (hasFailed && !this.#connected) this.#events.emit('close');
  };

  readonly evalsha = this.#script.bind(this, 'EVALSHA');
  readonly eval = this.#script.bind(this, 'EVAL');

  async mget(...keys: string[]): Promise<(string | null)[]> {
    return (await this.#keyed(['MGET'], keys)) as (string | null)[];
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
    const of = async (node: object): Promise<NodeRedis> =>
      new NodeRedis((await this.#client.nodeClient?.(node)) ?? this.#client, false, this.clock);
    return (this.#client.masters ?? []).map((node) => ({
      info: async (section) => (await of(node)).info(section),
      scan: async (...args) => (await of(node)).scan(...args),
    }));
  }

  #script(command: string, what: string, count: number, ...rest: (string | number)[]): Promise<unknown> {
    const texts = rest.map(String);
    return this.#keyed([command, what, String(count)], texts.slice(0, count), texts.slice(count));
  }

  /** The client does not add its prefix to commands that are sent as they are. */
  #keyed(before: string[], keys: string[], after: string[] = []): Promise<unknown> {
    const stored = keys.map((key) => (this.#client._keyPrefix ?? '') + key);
    return this.#send([...before, ...stored, ...after], stored[0]);
  }

  async #send(args: string[], key?: string): Promise<unknown> {
    // Not sent as a reading command: a replica can lag behind.
    const before = { client: [], cluster: [key, false], sentinel: [false] }[this.#kind];
    const send = this.#client.sendCommand.bind(this.#client) as (...all: unknown[]) => Promise<unknown>;
    const sent = { command: { name: args[0] ?? '' } };
    this.#underWay.add(sent);
    try {
      // Answers come as Redis gives them, whatever mapping of types the client has.
      return await send(...before, args, { typeMapping: {} });
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      throw Object.assign(new Error(message), { name: REPLY.test(message) ? 'ReplyError' : 'Error' });
    } finally {
      this.#underWay.delete(sent);
      this.stream.bytesRead += 1;
    }
  }

  /** Another connection that can subscribe to a channel. Clients of a Cluster and of Sentinels make one for that themselves. */
  duplicate(): SubscribingClient {
    const own = this.isSingle ? this.#client.duplicate?.() : undefined;
    return new NodeRedis(own ?? this.#client, own !== undefined, this.clock);
  }

  async subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    await this.#client.subscribe(channel, this.#hear);
  }

  /** Nobody listens any more. */
  disconnect(): void {
    this.#events.removeAllListeners();
    this.#attach('off');
    for (const channel of this.isOurs ? [] : this.#channels)
      void this.#client.unsubscribe(channel, this.#hear).catch(() => undefined);
    if (!this.isOurs) return;
    this.#client.on('error', () => undefined);
    if (this.#client.isOpen) this.#client.destroy();
  }
}

const ADAPTERS = new WeakMap<object, NodeRedis>();

/**
 * A client of node-redis (the package `redis`, 5 or 6) as the store takes it: of `createClient()`, `createCluster()` or
 * `createSentinel()`. The store also takes the client itself; this function is for those who want to be explicit, or to check early.
 *
 * One that is not connected yet is connected when the store starts. Give it `disableOfflineQueue: true` (in `defaults` of a Cluster,
 * in `nodeClientOptions` of Sentinels): then nothing waits in it behind an outage. As long as the store is open it listens for
 * `error`, so an outage does not end the process. It never closes the client.
 *
 * @throws SchedulerLockConfigError if it is no such client
 */
export function nodeRedis(client: NodeRedisClient): RedisClient {
  if (nodeRedisKind(client) === undefined)
    throw new SchedulerLockConfigError([
      'nodeRedis(): this is no client of node-redis 5 or 6. Give what createClient(), createCluster() or createSentinel() of the ' +
        'package `redis` returned.',
    ]);
  const adapter = ADAPTERS.get(client) ?? new NodeRedis(client);
  ADAPTERS.set(client, adapter);
  return adapter;
}
