import type { HintChannel } from '../../contract/lock-store.js';
import { RIGHTS } from './acl.js';
import { describeError } from './redact.js';
import { type Connection, runScript } from './redis-client.js';
import { script } from './script.js';

/** A client that can subscribe to a channel. */
export interface SubscribingClient {
  readonly status: string;
  connect(): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
  on(event: 'ready' | 'close' | 'error', listener: () => void): unknown;
  disconnect(reconnect?: boolean): void;
}

/**
 * Sends a hint.
 *
 * KEYS: -
 * ARGV: channel, text
 *
 * Returns to how many of this server's clients.
 */
const PUBLISH = script(/* lua */ `
return redis.call('PUBLISH', ARGV[1], ARGV[2])`);

/** A failure costs time, nothing else. */
export async function publish(connection: Connection, channel: string, text: string): Promise<void> {
  await runScript(connection, PUBLISH, 0, [channel, text]).catch(() => undefined);
}

/** Receives on a connection of its own which call of this process is called. A failure here costs time, nothing else. */
export class Hints implements HintChannel {
  open = false;
  problem: string | undefined;
  #client: SubscribingClient | undefined;
  #closed = false;

  /**
   * @param connect makes the connection
   * @param called receives the token of the call
   */
  constructor(
    connect: () => Promise<SubscribingClient | undefined>,
    private readonly channels: readonly string[],
    private readonly called: (token: string) => void,
  ) {
    void connect()
      .then((client) => this.#listen(client))
      .catch((error: unknown) => this.#failed(error));
  }

  close(): void {
    this.#closed = true;
    this.open = false;
    this.#client?.disconnect();
  }

  async #listen(client: SubscribingClient | undefined): Promise<void> {
    if (client === undefined) return this.#failed('your client has no duplicate()');
    this.#client = client;
    if (this.#closed) return client.disconnect();
    // Without a listener ioredis prints every failed attempt to connect.
    client.on('error', () => undefined);
    client.on('message', (_channel, token) => this.called(token));
    client.on('close', () => (this.open = false));
    client.on('ready', () => void this.#subscribe(client));
    if (client.status === 'ready') await this.#subscribe(client);
    else if (client.status === 'wait') await client.connect();
  }

  /** Also called after each new connection: a client need not subscribe again by itself. */
  async #subscribe(client: SubscribingClient): Promise<void> {
    try {
      for (const channel of this.channels) await client.subscribe(channel);
      this.open = !this.#closed;
    } catch (error) {
      // A connection that is lost meanwhile comes back, and tries again.
      if (/NOPERM|unknown command|not allowed/i.test(describeError(error))) this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#closed) return;
    const why = typeof error === 'string' ? error : describeError(error);
    this.problem = `${why}. ${RIGHTS}`;
  }
}
