import type { Clock, Timer } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
import { withAdvice } from './advice.js';
import type { RedisClient } from './connection-options.js';
import { describeError } from './redact.js';

/** How long a caller waits. */
export interface Patience {
  /** For the whole call, ms; 0: not at all. */
  readonly limit?: number | undefined;
  /** Whether it waits no more: a command that has not been sent by then must not be sent. */
  readonly givenUp?: boolean | undefined;
}

/** For a call that has waited for the connection already. */
export const NO_WAITING: Patience = { limit: 0 };

/**
 * The part of its limit that a call may wait for the connection. It ends before its caller gives it up: so it has certainly not been
 * sent, and nothing has to be undone.
 */
const SHARE = 0.9;
/** How long a call waits whose caller has no limit, ms. */
const WITHOUT_LIMIT = 1_000;
/** A connection that was not there within this time counts as one that failed, ms. */
const IN_VAIN = 1_000;
/**
 * For how long a failure to connect counts, ms: longer than the pause between two tries of a client. An older failure says nothing: the
 * process may have been frozen since.
 */
const BELIEVED = 15_000;

interface Options {
  /** Called each time the client is connected, after the calls that waited for that. */
  readonly available: () => void;
  /** Called when a call has waited in vain for a connection that is being made. */
  readonly stuck: () => void;
  /** Whether to listen for errors of the client. */
  readonly hearsErrors: boolean;
  readonly clock: Clock;
}

interface Waiting {
  readonly patience: Patience;
  readonly send: () => void;
  readonly failed: (error: Error) => void;
  readonly timer: Timer;
}

/** Whether a command would go to the server at once. A client counts as ready until it has noticed that its connection is closed. */
export function isConnected(client: RedisClient): boolean {
  if (client.status !== 'ready') return false;
  // The client of a Cluster has no connection of its own.
  const { stream } = client as { stream?: { writable?: boolean } | null };
  return stream?.writable !== false;
}

/**
 * Lets calls wait while a client connects, and fails them at once in a known outage. An outage is known if the last try to connect has
 * failed, or took too long. A connection that has just been lost is usually back in a moment: calls wait for it. No command waits in the
 * client, which would send it when its caller has long given up.
 */
export class Readiness {
  readonly #waiting = new Set<Waiting>();
  #connected: boolean;
  /** Why the client cannot connect, by its last error. */
  #reason: string | undefined;
  /** When the last try failed, monotonic, and why. */
  #failedAt = -Infinity;
  #failure: StoreUnavailableError | undefined;
  readonly #stops: (() => void)[] = [];

  constructor(
    private readonly client: RedisClient,
    private readonly options: Options,
  ) {
    this.#connected = client.status === 'ready';
    this.#on('ready', this.#onReady);
    this.#on('close', this.#onClose);
    if (options.hearsErrors) this.#on('error', (error) => (this.#reason = describeError(error)));
  }

  /** Calls `send` when the client is connected, or `failed` if the connection is known to fail, or takes too long. */
  wait(patience: Patience, send: () => void, failed: (error: Error) => void): void {
    const known = this.#known();
    if (known !== undefined) return failed(known);
    const limit = (patience.limit ?? WITHOUT_LIMIT) * SHARE;
    const give = (): void => {
      this.#waiting.delete(waiting);
      if (limit >= IN_VAIN) this.#fail();
      failed(notConnected(this.client));
      if (limit >= IN_VAIN) this.options.stuck();
    };
    const waiting = { patience, send, failed, timer: this.options.clock.setTimer(give, limit) };
    this.#waiting.add(waiting);
  }

  /** Nobody waits any more. */
  stop(): void {
    for (const stop of this.#stops) stop();
    this.#end(() => notConnected(this.client));
  }

  #on(event: string, listener: (argument?: unknown) => void): void {
    this.client.on(event, listener);
    this.#stops.push(() => void this.client.off(event, listener));
  }

  readonly #onReady = (): void => {
    this.#connected = true;
    this.#failedAt = -Infinity;
    this.#end(() => undefined);
    this.options.available();
  };

  readonly #onClose = (): void => {
    // Only the first `close` after a connection ends it: each further one is a failed try to connect.
    const wasConnected = this.#connected;
    this.#connected = false;
    if (wasConnected && this.client.status !== 'end') {
      // The error belongs to the connection that is over, not to the next one.
      this.#reason = undefined;
      return;
    }
    // A try to connect has failed.
    this.#fail();
    this.#end(() => this.#failure);
  };

  #fail(): void {
    this.#failedAt = this.options.clock.monotonic();
    this.#failure = this.#reason === undefined ? notConnected(this.client) : unreachable(this.#reason);
  }

  #known(): Error | undefined {
    if (this.client.status === 'end') return notConnected(this.client);
    return this.options.clock.monotonic() - this.#failedAt < BELIEVED ? this.#failure : undefined;
  }

  /** The waiting calls go on, or fail. */
  #end(problem: () => Error | undefined): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { patience, send, failed, timer } of waiting) {
      timer.cancel();
      const error = patience.givenUp === true ? tooLate() : problem();
      if (error === undefined) send();
      else failed(error);
    }
  }
}

/** What each status of a client means, where it is worth saying. */
const MEANING: Readonly<Record<string, string>> = {
  connect: ': the server accepts connections, but is frozen, or loads its data',
  connecting: ': nothing answers at its address',
  end: ': it has been closed; close a client of yours only when `app.close()` has resolved',
};

export const notConnected = ({ status }: RedisClient): StoreUnavailableError =>
  new StoreUnavailableError(`Redis is not connected (the client is "${status}"${MEANING[status] ?? ''}).`, {
    outcome: 'not-applied',
  });

/** The error of a client that cannot connect. */
export const unreachable = (reason: string): StoreUnavailableError =>
  new StoreUnavailableError(withAdvice(`Redis cannot be reached: ${reason}.`), { outcome: 'not-applied' });

/** A call that nobody waits for any more. */
export const tooLate = (): StoreUnavailableError =>
  new StoreUnavailableError('Redis answered only when nobody waited any more.', { outcome: 'not-applied' });
