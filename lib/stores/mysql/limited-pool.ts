import { type Clock, systemClock } from '../../clock.js';

/** A pool of `mysql2`, without promises. */
export interface CallbackPool {
  getConnection(callback: (error: Error | null, connection: CallbackConnection) => void): void;
}

export interface CallbackConnection {
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

/**
 * Statements through a pool of `mysql2`, each with a limit: `mysql2` has none for an answer, and with its `timeout` a
 * connection that nobody answers on keeps its place in the pool.
 */
export class LimitedPool {
  constructor(
    private readonly pool: CallbackPool,
    /** Milliseconds until a connection that has not answered is closed. */
    private readonly limit: number,
    private readonly clock: Clock = systemClock,
  ) {}

  query(sql: string, values: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      let sentOn: CallbackConnection | undefined;
      let over = false;
      const timer = this.clock.setTimer(() => {
        over = true;
        sentOn?.destroy();
        reject(sentOn === undefined ? notSent(this.limit) : notAnswered(this.limit));
      }, this.limit);
      const settle = (error: Error | null, result?: unknown): void => {
        if (over) return;
        timer.cancel();
        if (error === null) resolve(result);
        else reject(error);
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
          connection.query(options, ended);
        } catch (error) {
          ended(error as Error);
        }
      });
    });
  }
}

function notSent(limit: number): Error {
  return Object.assign(new Error(`the pool had no connection within ${limit} ms`), { syscall: 'connect' });
}

function notAnswered(limit: number): Error {
  return new Error(`no answer within ${limit} ms, so the connection was closed`);
}
