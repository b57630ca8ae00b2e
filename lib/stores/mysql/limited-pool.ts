import { type Clock, systemClock } from '../../clock.js';
import { GivenUp, type Sent } from './given-up.js';

/** A pool of `mysql2`, without promises. */
export interface CallbackPool {
  getConnection(callback: (error: Error | null, connection: CallbackConnection) => void): void;
}

export interface CallbackConnection {
  /** The server's number of the connection. */
  readonly threadId?: unknown;
  /** Its socket. */
  readonly stream?: unknown;
  /** Answers the command, which has the text that is sent as its `sql`. */
  query(options: object, callback: (error: Error | null, result: unknown) => void): unknown;
  release(): void;
  destroy(): void;
}

/** Errors of a server that only reads: after a failover such a connection leads to the wrong one. */
const READ_ONLY = [1290, 1792, 1836];

/** The pool within a client, if it has one whose connections can be given up. */
export function poolOf(client: unknown): CallbackPool | undefined {
  const { getConnection, pool, promise } = Object(client) as Readonly<Record<string, unknown>>;
  if (typeof getConnection !== 'function') return undefined;
  // One of `mysql2/promise` is a shell around one of `mysql2`, which itself has `promise()`.
  if (typeof promise === 'function') return client as CallbackPool;
  const inner = Object(pool) as { getConnection?: unknown; promise?: unknown };
  return typeof inner.getConnection === 'function' && typeof inner.promise === 'function'
    ? (inner as CallbackPool)
    : undefined;
}

/** A timer that fires this late was held up by a busy event loop, milliseconds. */
const LATE = 5;

/** How a statement is sent. */
interface Sending {
  /** Milliseconds, the wait for a connection included. */
  readonly limit: number;
  givenUp?(sent: Sent): void;
  answered?(): void;
}

/**
 * Statements through a pool of `mysql2`, each with a limit: `mysql2` has none for an answer, and with its `timeout` a
 * connection that nobody answers on keeps its place in the pool.
 */
export class LimitedPool {
  readonly #limited: Sending;

  /** @param limit milliseconds until a connection that has not answered is closed */
  constructor(
    private readonly pool: CallbackPool,
    limit: number,
    private readonly clock: Clock = systemClock,
  ) {
    const givenUp = new GivenUp((text, values) => this.#send(text, values, { limit }), clock);
    this.#limited = {
      limit,
      givenUp: (sent) => givenUp.add(sent),
      // The database answers, so it can be asked about what it did not answer before.
      answered: () => givenUp.end(),
    };
  }

  query(text: string, values: unknown[]): Promise<unknown> {
    return this.#send(text, values, this.#limited);
  }

  #send(sql: string, values: unknown[], { limit, givenUp, answered }: Sending): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let sentOn: CallbackConnection | undefined;
      let sent: unknown;
      let over = false;
      const giveUp = (): void => {
        over = true;
        reject(closeSilent(sentOn, limit));
        const { sql: text } = Object(sent) as { sql?: unknown };
        if (typeof text === 'string') givenUp?.({ thread: Number(sentOn?.threadId), text });
      };
      const timer = this.#timer(giveUp, limit);
      const settle = (error: Error | null, result?: unknown): void => {
        if (over) return;
        timer.cancel();
        if (error !== null) return reject(error);
        resolve(result);
        answered?.();
      };
      this.pool.getConnection((noConnection, connection) => {
        if (noConnection) return settle(noConnection);
        // Nobody waits for it any more.
        if (over) return connection.release();
        sentOn = connection;
        // Whatever the pool is set to, rows are to be objects by the names of their columns.
        const options = { sql, values, rowsAsArray: false, nestTables: false, typeCast: true };
        const ended = (error: Error | null, result?: unknown): void => {
          if (over) return;
          // One that is broken, or leads to a server that only reads, must not go to whoever waits for a connection.
          const { errno, fatal } = (error ?? {}) as { errno?: unknown; fatal?: unknown };
          if (fatal === true || READ_ONLY.includes(Number(errno))) connection.destroy();
          else connection.release();
          settle(error, result);
        };
        try {
          sent = connection.query(options, ended);
        } catch (error) {
          ended(error as Error);
        }
      });
    });
  }

  /**
   * Calls `giveUp` after `limit` milliseconds. An event loop that was blocked past that reads the answers that have come
   * meanwhile first: a busy process is no silent database.
   */
  #timer(giveUp: () => void, limit: number): { cancel(): void } {
    const due = this.clock.monotonic() + limit;
    const check = (): void => {
      if (this.clock.monotonic() - due < LATE) giveUp();
      else timer = this.clock.setTimer(giveUp, 1);
    };
    let timer = this.clock.setTimer(check, limit);
    return { cancel: () => timer.cancel() };
  }
}

/**
 * Closes a connection on which nobody answers. With `destroy()` alone `mysql2` closes its own side and waits for the server to
 * do the same; a pool that is being ended would wait for ever for the connection's last command, which is told of the error.
 *
 * @param connection none, if the pool had none
 * @returns what to tell whoever waited, for `limit` milliseconds
 */
export function closeSilent(connection: CallbackConnection | undefined, limit: number): Error {
  if (connection === undefined) {
    const error = new Error(`the pool had no connection within ${limit} ms`);
    return Object.assign(error, { syscall: 'connect' });
  }
  const error = new Error(`no answer within ${limit} ms, so the connection was closed`);
  connection.destroy();
  const stream = Object(connection.stream) as { destroy?: unknown };
  if (typeof stream.destroy === 'function') stream.destroy(error);
  return error;
}
