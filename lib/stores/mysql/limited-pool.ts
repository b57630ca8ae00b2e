import { quietly } from '../../base/quietly.js';
import { type Clock, systemClock } from '../../base/clock.js';
import { LOCK_WAIT, TRY_LIMIT } from '../sql/dialect.js';
import { Silence, type Statement } from '../sql/silence.js';

/** A pool of `mysql2` with callbacks. */
export interface CallbackPool {
  getConnection(callback: (error: Error | null, connection: CallbackConnection) => void): void;
  /** Its idle connections. Nothing else says how many there are. */
  readonly _freeConnections?: { readonly length: number };
}

export interface CallbackConnection {
  /** Its socket. */
  readonly stream?: unknown;
  query(options: object, callback: (error: Error | null, result: unknown) => void): unknown;
  release(): void;
  destroy(): void;
}

/** Errors of a read-only server: after a failover, the connection leads to the wrong server. */
const READ_ONLY = [1290, 1792, 1836];

/** The pool inside a client, if its connections can be closed. */
export function poolOf(client: unknown): CallbackPool | undefined {
  const { getConnection, pool, promise } = Object(client) as Readonly<Record<string, unknown>>;
  if (typeof getConnection !== 'function') return undefined;
  // A pool of `mysql2/promise` wraps a pool of `mysql2`, which itself has `promise()`.
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
  /** Milliseconds for the statement, the wait for a connection included. */
  readonly limit: number;
  /** Seconds that the statement waits for locks. The limit is one of the session, so the connection is closed afterwards. */
  readonly lockTimeout?: number;
}

interface ToSend extends Sending {
  readonly sql: string;
  readonly values: unknown[];
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One statement, until it is answered or given up. */
class Sent {
  readonly #timer: { cancel(): void };
  #connection: CallbackConnection | undefined;
  #statement: Statement | undefined;
  #over = false;

  constructor(
    private readonly to: ToSend,
    private readonly silence: Silence,
    timer: (giveUp: () => void) => { cancel(): void },
  ) {
    this.#timer = timer(() => this.#giveUp());
  }

  /** The pool has a connection for it, or none. */
  connected(noConnection: Error | null, connection: CallbackConnection): void {
    // The statement was given up before it got a connection.
    if (this.#over) return noConnection ? undefined : connection.release();
    if (noConnection) return this.#settle(noConnection);
    const { sql, lockTimeout } = this.to;
    this.#connection = connection;
    if (lockTimeout === undefined) this.#statement = this.silence.sent((waited) => this.#giveUp(waited));
    if (lockTimeout === undefined) return this.#send(connection, sql);
    this.#send(connection, `SET SESSION lock_wait_timeout = ${lockTimeout}`, (error) =>
      error === null ? this.#send(connection, sql) : this.#ended(connection, error),
    );
  }

  #send(
    connection: CallbackConnection,
    sql: string,
    answered = (error: Error | null, result?: unknown): void => this.#ended(connection, error, result),
  ): void {
    if (this.#over) return;
    try {
      // Rows have to be objects keyed by column, whatever the options of the pool say.
      const options = { sql, values: this.to.values, rowsAsArray: false, nestTables: false, typeCast: true };
      quietly(() => connection.query(options, answered));
    } catch (error) {
      this.#ended(connection, error as Error);
    }
  }

  #ended(connection: CallbackConnection, error: Error | null, result?: unknown): void {
    if (this.#over) return;
    // A broken connection, or one to a read-only server, must not go back to the pool.
    const { errno, fatal } = (error ?? {}) as { errno?: unknown; fatal?: unknown };
    const unfit = fatal === true || READ_ONLY.includes(Number(errno)) || this.to.lockTimeout !== undefined;
    if (unfit) connection.destroy();
    else connection.release();
    this.#settle(error, result);
  }

  #settle(error: Error | null, result?: unknown): void {
    this.#end();
    if (error !== null) return this.to.reject(error);
    this.to.resolve(result);
  }

  #giveUp(waited = this.to.limit): void {
    this.#end();
    this.to.reject(closeSilent(this.#connection, waited));
  }

  #end(): void {
    this.#over = true;
    this.#timer.cancel();
    if (this.#statement !== undefined) this.silence.ended(this.#statement);
  }
}

/**
 * Sends statements through a pool of `mysql2`, each with a limit, and closes a connection that does not answer. `mysql2` itself does not:
 * after its `timeout`, a silent connection stays in the pool.
 */
export class LimitedPool {
  readonly #silence: Silence;

  /**
   * @param limit milliseconds until a connection that has not answered is closed
   * @param tryLimit the same for a statement of a migration
   */
  constructor(
    private readonly pool: CallbackPool,
    private readonly limit: number,
    private readonly clock: Clock = systemClock,
    private readonly tryLimit: number = TRY_LIMIT,
  ) {
    this.#silence = new Silence(clock);
  }

  /** The database of a new connection; `null`: none; `undefined`: that is not known. */
  get database(): string | null | undefined {
    const { config } = this.pool as { config?: { connectionConfig?: { database?: string | null } } };
    return config?.connectionConfig && (config.connectionConfig.database || null);
  }

  query(text: string, values: unknown[]): Promise<unknown> {
    return this.#send(endingBy(this.limit, text), values, { limit: this.limit });
  }

  /** Runs a statement that fails when it has waited {@link LOCK_WAIT} for a lock. */
  queryWithLockTimeout(statement: string): Promise<unknown> {
    return this.#send(statement, [], { limit: this.tryLimit, lockTimeout: LOCK_WAIT });
  }

  /** Closes dead connections. The next statement gets a connection that has answered meanwhile, or a new one. */
  reconnect(silence: number | undefined): void {
    // Idle connections first, so that no later statement gets a dead one.
    for (let idle = this.pool._freeConnections?.length ?? 0; idle > 0; idle--) this.#probe();
    if (silence !== undefined) this.#silence.giveUp(silence);
  }

  #probe(): void {
    this.pool.getConnection((noConnection, connection) => {
      if (noConnection) return;
      this.#silence.probe({
        ask: (answered) => quietly(() => connection.query({ sql: 'SELECT 1' }, answered)),
        giveBack: () => connection.release(),
        close: (waited) => void closeSilent(connection, waited),
      });
    });
  }

  #send(sql: string, values: unknown[], sending: Sending): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const statement = { ...sending, sql, values, resolve, reject };
      const sent = new Sent(statement, this.#silence, (giveUp) => this.#timer(giveUp, sending.limit));
      this.pool.getConnection((noConnection, connection) => sent.connected(noConnection, connection));
    });
  }

  /**
   * Calls `giveUp` after `limit` milliseconds. If the event loop was blocked by then, first lets it read the answers that have come
   * meanwhile: a busy process is no silent database.
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

const OPTIONS = '/*M! SET STATEMENT ';

/**
 * A statement with a time limit of its own: MariaDB ends it when the store has given it up, whatever it waits for. MySQL has no such option, and reads
 * that as a comment.
 */
function endingBy(limit: number, text: string): string {
  const options = `${OPTIONS}max_statement_time = ${limit / 1_000}`;
  return text.startsWith(OPTIONS) ? `${options}, ${text.slice(OPTIONS.length)}` : `${options} FOR */ ${text}`;
}

/**
 * Closes a connection on which the server does not answer. `destroy()` alone closes one side, and waits for the server to close the other.
 * Destroying the socket with an error also ends the last command of the connection, for which `pool.end()` would otherwise wait for ever.
 *
 * @param connection `undefined` if the pool gave none in time
 * @returns the error for the caller, who has waited `limit` milliseconds
 */
function closeSilent(connection: CallbackConnection | undefined, limit: number): Error {
  if (connection === undefined) {
    const error = new Error(`the pool had no connection within ${limit} ms`);
    return Object.assign(error, { syscall: 'connect' });
  }
  const error = new Error(`no answer within ${limit} ms, so the connection was closed`);
  connection.destroy();
  const stream = Object(connection.stream) as { destroy?: (error: Error) => void };
  if (typeof stream.destroy === 'function') stream.destroy(error);
  return error;
}
