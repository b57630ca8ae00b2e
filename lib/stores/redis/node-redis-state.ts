import { systemClock, type Timer } from '../../base/clock.js';
import { type NodeRedisClient, type NodeRedisKind, nodeRedisKind } from './node-redis-kind.js';

/** The members that are used, of all kinds of clients, and of the versions 5 and 6. */
export interface AnyClient extends NodeRedisClient {
  readonly isReady?: boolean;
  /** How many times it has been connected. */
  readonly socketEpoch?: number;
  readonly options?: ClientOptions;
  /** How many commands are under way, ours and others. Older ones do not have it. */
  _getQueue?(): { readonly pendingCount?: number };
  /** Of a Cluster. */
  readonly _options?: { readonly defaults?: ClientOptions };
  /** Only version 6 has that. */
  readonly _keyPrefix?: string;
  readonly masters?: readonly ClusterNode[];
  nodeClient?(node: ClusterNode): Promise<AnyClient> | AnyClient;
  getMasterNode?(): unknown;
  duplicate?(override?: object): AnyClient;
  subscribe(channel: string, listener: Heard): Promise<unknown>;
  unsubscribe(channel: string, listener: Heard): Promise<unknown>;
  destroy(): unknown;
}

export interface ClientOptions {
  readonly username?: string;
  readonly database?: number;
  readonly disableOfflineQueue?: boolean;
  readonly socket?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly family?: number;
    readonly tls?: boolean;
    readonly socketTimeout?: number;
  };
}

export interface ClusterNode {
  readonly client?: AnyClient | undefined;
}

export type Heard = (message: string, channel: string) => void;
export type Listener = (...args: unknown[]) => void;

/** How often to look at a client that is not connected, ms. */
const LOOK_EVERY = 100;
/** The pause before a Cluster or Sentinels that could not be reached are tried again, ms: they give up themselves. */
const PAUSE = 1_000;

/** Events after which a client may have become connected, or disconnected. */
const CHANGES = [
  'ready',
  'connect',
  'reconnecting',
  'end',
  'disconnect',
  'node-ready',
  'node-disconnect',
  'topology-change',
];
const ERRORS = ['error', 'node-error', 'client-error'];

/**
 * Whether a client of node-redis is connected, with the states and events of ioredis.
 *
 * The events of node-redis, and the meaning of `isReady`, differ by kind and version. So this class looks at the state after each event,
 * and again and again while the client is not connected.
 */
export class NodeRedisState {
  protected readonly kind: NodeRedisKind;
  readonly #listeners = new Map<string, Set<Listener>>();
  #timer: Timer | undefined;
  /** What the last look has shown. */
  #connected = false;
  /** Whether this class is replacing its connection. */
  #renewing = false;
  /** Whether it ever was connected: a client that is closed looks like one that has yet to be opened. */
  #opened = false;

  constructor(protected readonly client: AnyClient) {
    this.kind = nodeRedisKind(client) ?? 'client';
    // The getter notes whether the client is open.
    void this.status;
  }

  get status(): 'ready' | 'connecting' | 'reconnecting' | 'end' | 'wait' {
    if (this.#isConnected()) {
      this.#opened = true;
      return 'ready';
    }
    const wasOpened = this.#opened || (this.client.socketEpoch ?? 0) > 0;
    if (this.client.isOpen || this.#renewing) return wasOpened ? 'reconnecting' : 'connecting';
    return wasOpened ? 'end' : 'wait';
  }

  /** With Sentinels, `isReady` stays true while there is no master. A Cluster without any node serves nobody. */
  #isConnected(): boolean {
    const { client } = this;
    if (!client.isOpen || client.isReady === false) return false;
    if (this.kind === 'sentinel') return client.getMasterNode?.() !== undefined;
    if (this.kind === 'client') return true;
    const { masters = [] } = client;
    // A node without a client gets one when it is needed.
    return masters.some((node) => node.client === undefined || node.client.isReady === true);
  }

  /** Resolves when it is connected. Clients of a Cluster and of Sentinels give up: this makes them try again while somebody listens. */
  async connect(): Promise<void> {
    for (;;) {
      try {
        await this.client.connect();
        return this.#look();
      } catch (error) {
        this.#tell(error);
        if (this.kind === 'client') throw error;
      }
      await new Promise<void>((resolve) => systemClock.setTimer(resolve, PAUSE));
      if (this.#listeners.size === 0 || this.client.isOpen) return;
    }
  }

  /** Replaces the connection to a single server: the client has no method for only that. */
  protected renew(): void {
    if (!this.client.isOpen) return;
    this.#renewing = true;
    this.client.destroy();
    // Its events report a failure.
    this.client.connect().catch(() => undefined);
    this.#renewing = false;
    this.#look();
  }

  on(event: string, listener: Listener): void {
    if (this.#listeners.size === 0) this.#attach();
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
  }

  off(event: string, listener: Listener): void {
    const listeners = this.#listeners.get(event);
    if (listeners?.delete(listener) !== true) return;
    if (listeners.size === 0) this.#listeners.delete(event);
    if (this.#listeners.size === 0) this.#detach();
  }

  #attach(): void {
    this.#connected = this.status === 'ready';
    for (const event of CHANGES) this.client.on(event, this.#look);
    // Without a listener for `error` the process would end with the connection.
    for (const event of ERRORS) this.client.on(event, this.#tell);
    this.#lookAgain();
  }

  #detach(): void {
    for (const event of CHANGES) this.client.off(event, this.#look);
    for (const event of ERRORS) this.client.off(event, this.#tell);
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    if (this.#listeners.size === 0) return;
    const before = this.#connected;
    this.#connected = this.status === 'ready';
    if (before !== this.#connected) this.#emit(before ? 'close' : 'ready');
    this.#lookAgain();
  };

  #lookAgain(): void {
    this.#timer?.cancel();
    // A closed client needs no further looks.
    const isOver = this.#connected || this.#listeners.size === 0 || this.status === 'end';
    this.#timer = isOver ? undefined : systemClock.setTimer(this.#look, LOOK_EVERY);
  }

  /** An error of a client that is not connected comes from a try to connect. Some kinds wrap it in an object, or give a text. */
  readonly #tell = (given: unknown): void => {
    const { error = given } = Object(given) as { error?: unknown };
    const hasFailed = !this.#connected;
    this.#emit('error', error);
    this.#look();
    if (hasFailed && !this.#connected) this.#emit('close');
  };

  #emit(event: string, argument?: unknown): void {
    // A copy: a listener may remove itself, and add another one.
    const listeners = Array.from(this.#listeners.get(event) ?? []) as ((given?: unknown) => void)[];
    for (const listener of listeners) listener(argument);
  }

  /** Nobody listens any more. */
  protected stop(): void {
    this.#listeners.clear();
    this.#detach();
  }
}
