import type { Clock, Timer } from '../../base/clock.js';

/** A command that was sent and not answered yet. */
interface Unanswered {
  readonly command?: { readonly name?: string };
}

/** The members of one connection of ioredis that the watch uses. */
export interface WatchedClient {
  readonly status: string;
  /** Commands that were sent but not answered yet, the oldest in front: the server answers in this order. */
  readonly commandQueue: { peekFront(): Unanswered | undefined };
  readonly stream?: Stream | null;
  disconnect(reconnect?: boolean): void;
  duplicate?(override: object): FreshClient;
}

interface Stream {
  readonly bytesRead: number;
  /** How much of what was sent is still in this process. */
  readonly writableLength: number;
  destroy(): void;
}

interface FreshClient {
  connect(): Promise<unknown>;
  eval(lua: string, numberOfKeys: number): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  disconnect(): void;
}

/** How often to look, ms. */
const INTERVAL = 500;
/** How long a fresh connection may take to answer, ms. */
const FRESH_LIMIT = 1_000;
/** The shortest and the longest pause between two fresh connections, ms: it doubles while none is answered. */
const PAUSE = 2_000;
const MAX_RETRY_DELAY = 10_000;

/** A connection for one answer. It tries once, and keeps no process alive. */
const FRESH = {
  lazyConnect: true,
  connectTimeout: FRESH_LIMIT,
  disconnectTimeout: 100,
  retryStrategy: null,
  sentinelRetryStrategy: null,
  reconnectOnError: null,
  enableReadyCheck: false,
  enableOfflineQueue: true,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  monitor: false,
};

/**
 * Commands that Redis carries out at once, by their names. Others may block, as BLPOP, or work in the background, as those of modules: the
 * watch leaves a connection alone that owes the answer to such a command.
 */
const PLAIN =
  /^(?:[gs]et(?:ex|nx|range)?|m[gs]et|p?setex|del|unlink|exists|p?expire|p?ttl|(?:in|de)cr(?:by)?|h[a-z]+|z[a-z]+|[lr](?:push|pop|range|len|rem|trim)|s(?:add|rem|card|ismember|members|pop)|x(?:add|ack|len|range|del|trim)|eval(?:sha)?|publish|multi|exec|ping|info|time)$/i;

/** What the last look at a connection has shown. */
interface Seen {
  stream: Stream | null | undefined;
  oldest: Unanswered;
  bytesRead: number;
  writableLength: number;
  /** How many looks have shown the same. */
  looks: number;
}

interface Options {
  /** The connections to look at. */
  readonly connections: () => readonly WatchedClient[];
  /** How long a connection may be silent before it is compared with a fresh one, ms. */
  readonly silence: number;
  /**
   * After how long a connection that owes an answer is given up, whatever the server answers on another one, ms. That includes a connection
   * that only owes answers to the handshake. Only for connections that nobody else uses.
   */
  readonly limit?: number;
  readonly clock: Clock;
}

/**
 * Replaces connections that have died unnoticed: the network has forgotten them, or the server behind them is another one. Nothing else
 * would show that for a quarter of an hour.
 *
 * A connection has died if it owes the answer to a command that is carried out at once, if for some time no byte has come or gone, and if
 * meanwhile the server answers a script on a *fresh* connection to the same address. A server that is slow, frozen, paused or out of reach
 * does not answer there either; then the watch does nothing. Once such a server goes on, it answers on both connections, in any order: so
 * the silence has to last for a moment more. Commands that were under way are sent again or rejected, as the options of the client say.
 * The option `socketTimeout` of ioredis does the same, but without this comparison.
 *
 * That option also arms a timer and a listener for each command, more than a tenth of the cost of a run. The watch costs nothing per
 * command.
 */
export class SilenceWatch {
  readonly #seen = new WeakMap<WatchedClient, Seen>();
  /** Connections for which no fresh one may be made now. */
  readonly #asked = new WeakSet<WatchedClient>();
  #pause = PAUSE;
  /** Functions that end the open timers and fresh connections. */
  readonly #underWay = new Set<() => void>();
  #stopped = false;
  #timer: Timer;

  constructor(private readonly options: Options) {
    this.#timer = this.#wait();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
    for (const end of this.#underWay) end();
    this.#underWay.clear();
  }

  #wait(): Timer {
    return this.options.clock.setTimer(() => {
      for (const client of this.options.connections()) this.#look(client);
      if (!this.#stopped) this.#timer = this.#wait();
    }, INTERVAL);
  }

  /** Counts looks instead of time: an event loop that was blocked reads the answers that have come meanwhile before the next look. */
  #look(client: WatchedClient): void {
    const now = lookAt(client);
    const before = this.#seen.get(client);
    if (now === undefined) return void this.#seen.delete(client);
    if (before !== undefined && isSame(before, now)) now.looks = before.looks + 1;
    this.#seen.set(client, now);
    const { silence, limit = Infinity } = this.options;
    if (now.looks * INTERVAL >= limit) client.disconnect(true);
    else if (now.looks * INTERVAL >= silence && client.status === 'ready' && isPlain(now.oldest))
      void this.#check(client, now);
  }

  /** Compares silent connections at once: a call has waited in vain. Resolves when the dead ones are closed. */
  async lookNow(): Promise<void> {
    const checks = this.options.connections().map(async (client) => {
      const [before, now] = [this.#seen.get(client), lookAt(client)];
      if (before === undefined || now === undefined || !isSame(before, now)) return;
      if (client.status === 'ready' && isPlain(now.oldest)) await this.#compare(client, now);
    });
    await Promise.all(checks);
  }

  async #check(client: WatchedClient, silent: Seen): Promise<void> {
    if (this.#asked.has(client)) return;
    this.#asked.add(client);
    const answered = await this.#compare(client, silent);
    if (this.#stopped) return;
    const pause = answered ? PAUSE : this.#pause;
    this.#pause = answered ? PAUSE : Math.min(2 * pause, MAX_RETRY_DELAY);
    this.#after(pause, () => this.#asked.delete(client));
  }

  /** Closes a silent connection if the server answers on a fresh one. Returns whether it does. */
  async #compare(client: WatchedClient, silent: Seen): Promise<boolean> {
    const fresh = freshOf(client);
    if (fresh === undefined) return false;
    const answered = await this.#answersAnew(fresh);
    // Twice, as one timer may fire before the data that has arrived meanwhile is read: see `#look`.
    for (let half = 0; answered && half < 2; half++) await this.#moment(INTERVAL / 2);
    const now = lookAt(client);
    if (!this.#stopped && answered && now !== undefined && isSame(silent, now)) silent.stream?.destroy();
    return answered;
  }

  /** Whether the server answers on a fresh connection. By a script, which a server whose writes are paused does not answer. */
  async #answersAnew(fresh: FreshClient): Promise<boolean> {
    fresh.on('error', () => undefined);
    const answered = new Promise<boolean>((resolve) => {
      const cancel = this.#after(FRESH_LIMIT, () => resolve(false));
      void fresh
        .connect()
        .then(() => fresh.eval('return 1', 0))
        .then((answer) => resolve(Number(answer) === 1))
        .catch(() => resolve(false))
        .finally(cancel);
    });
    const disconnect = (): void => fresh.disconnect();
    this.#underWay.add(disconnect);
    const verdict = await answered;
    if (this.#underWay.delete(disconnect)) disconnect();
    return verdict;
  }

  /** Resolves after a delay, or as soon as the watch stops. */
  #moment(delay: number): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#underWay.delete(end);
        timer.cancel();
        resolve();
      };
      const timer = this.options.clock.setTimer(end, delay);
      this.#underWay.add(end);
    });
  }

  /** Calls back after a delay, but not after the watch has stopped. Returns a function that cancels this. */
  #after(delay: number, callback: () => void): () => void {
    const timer = this.options.clock.setTimer(() => {
      this.#underWay.delete(cancel);
      callback();
    }, delay);
    const cancel = (): void => {
      this.#underWay.delete(cancel);
      timer.cancel();
    };
    this.#underWay.add(cancel);
    return cancel;
  }
}

/** The state of a connection; `undefined` if it owes no answer. */
function lookAt({ commandQueue, stream }: WatchedClient): Seen | undefined {
  const oldest = commandQueue.peekFront();
  if (oldest === undefined) return undefined;
  const { bytesRead = 0, writableLength = 0 } = stream ?? {};
  return { stream, oldest, bytesRead, writableLength, looks: 0 };
}

/** A fresh connection of a client, which may be a user's own; `undefined` if it makes none. */
function freshOf(client: WatchedClient): FreshClient | undefined {
  try {
    return client.duplicate?.(FRESH);
  } catch {
    return undefined;
  }
}

const isPlain = ({ command }: Unanswered): boolean => PLAIN.test(command?.name ?? '');

const isSame = (one: Seen, other: Seen): boolean =>
  one.oldest === other.oldest &&
  one.stream === other.stream &&
  one.bytesRead === other.bytesRead &&
  one.writableLength === other.writableLength;
