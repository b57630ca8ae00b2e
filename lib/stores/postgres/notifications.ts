import { createHash } from 'node:crypto';
import { type Clock, systemClock, type Timer } from '../../clock.js';
import type { HintChannel } from '../lock-store.js';
import { describeFailure } from '../sql/failure.js';

/** How often the connection is tested, ms. A test that has not come back when the next one is due counts as failed. */
const BEAT = 10_000;
/** When the first test is due, ms. */
const FIRST_BEAT = 2_000;
/** How soon a lost connection is opened again, ms. */
const RECONNECT = 1_000;
/** How many attempts fail in a row until a problem is reported: a database that restarts is back by then. */
const PATIENCE = 10;

/** A connection of `pg` that stays open. */
export interface ListeningClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<unknown>;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
}

/** The channel of a process: it has to fit into the 63 bytes of a name, whatever the process is called. */
export const channelOf = (process: string): string =>
  `scheduler_lock_${createHash('sha256').update(process).digest('hex').slice(0, 40)}`;

/** The channel that every process hears which hears hints, whatever its table. */
export const COMMON = channelOf('queued calls');

/**
 * Hears by LISTEN which call of this process is called.
 *
 * 1. The pool sends a test again and again. If it does not arrive, a proxy between pools connections, the connection is dead, or it leads
 *    to another database.
 * 2. A failure here costs time, and nothing else: calls in line also ask.
 */
export class Notifications implements HintChannel {
  open = false;
  problem: string | undefined;
  #client: ListeningClient | undefined;
  #timer: Timer | undefined;
  #beats = 0;
  /** The test that has not come back yet. */
  #awaited: string | undefined;
  /** The newest test that the pool has sent. */
  #sent: string | undefined;
  /** How many attempts have failed since a test came back. */
  #failures = 0;
  #hasOpened = false;
  #closed = false;

  /**
   * @param connect makes a connection, which is not open yet
   * @param notify sends a text to a channel, through the pool
   * @param called receives the token of a call
   */
  constructor(
    private readonly connect: () => ListeningClient,
    private readonly notify: (channel: string, payload: string) => Promise<unknown>,
    private readonly channel: string,
    private readonly called: (token: string) => void,
    private readonly clock: Clock = systemClock,
  ) {
    void this.#listen();
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  async #listen(): Promise<void> {
    let client: ListeningClient | undefined;
    try {
      client = this.connect();
      this.#client = client;
      client.on('error', () => this.#lost(client));
      client.on('end', () => this.#lost(client));
      client.on('notification', ({ payload = '' }) => this.#heard(payload));
      await client.connect();
      await client.query(`LISTEN ${this.channel}; LISTEN ${COMMON}`);
      if (this.#client === client) this.#beat(FIRST_BEAT);
    } catch (error) {
      this.#failures += 1;
      if (this.#failures === PATIENCE)
        this.problem = `${describeFailure(error)}. Correct the option \`listen\` of the store.`;
      this.#lost(client);
    }
  }

  #beat(limit: number): void {
    // Not if the pool could not send the test: then the database is away, which others find out and report.
    if (this.#awaited !== undefined && this.#awaited === this.#sent) return this.#failed();
    const beat = `beat ${++this.#beats}`;
    this.#awaited = beat;
    void this.notify(this.channel, beat).then(
      () => (this.#sent = beat),
      () => undefined,
    );
    this.#timer = this.clock.setTimer(() => this.#beat(BEAT), limit);
  }

  #heard(payload: string): void {
    if (!payload.startsWith('beat ')) return this.called(payload);
    if (payload !== this.#awaited) return;
    this.#awaited = undefined;
    this.#failures = 0;
    this.problem = undefined;
    this.#hasOpened = true;
    this.open = !this.#closed;
  }

  #failed(): void {
    // A connection that worked before has only died.
    if (!this.#hasOpened)
      this.problem =
        'what the pool notifies of does not arrive. Give the store an address for `listen` that leads to the same database without a proxy such as PgBouncer.';
    this.#lost(this.#client);
  }

  #lost(client: ListeningClient | undefined): void {
    if (this.#closed || client !== this.#client) return;
    this.#drop();
    this.#timer = this.clock.setTimer(() => void this.#listen(), RECONNECT);
  }

  #drop(): void {
    const client = this.#client;
    this.open = false;
    this.#client = undefined;
    this.#awaited = undefined;
    this.#timer?.cancel();
    client?.end().catch(() => undefined);
  }
}
