import { type Connection, type Connections, Silent } from '../sql/gate.js';

/** A pool of `mysql2` with callbacks. */
export interface CallbackPool {
  getConnection(callback: (error: Error | null, connection: CallbackConnection) => void): void;
  /** Its idle connections. Nothing else says how many there are. */
  readonly _freeConnections?: { readonly length: number };
  readonly config?: {
    readonly connectionLimit?: number;
    readonly connectionConfig?: { readonly database?: string | null };
  };
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
const OPTIONS = '/*M! SET STATEMENT ';

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

export class PoolConnections implements Connections {
  constructor(
    private readonly pool: CallbackPool,
    private readonly limit: number,
  ) {}

  get idle(): number {
    return this.pool._freeConnections?.length ?? 0;
  }

  /** The database of a new connection; `null`: none; `undefined`: that is not known. */
  get database(): string | null | undefined {
    const { config } = this.pool;
    return config?.connectionConfig && (config.connectionConfig.database || null);
  }

  get most(): number | undefined {
    return this.pool.config?.connectionLimit;
  }

  take(): Promise<Connection> {
    return new Promise((resolve, reject) =>
      this.pool.getConnection((noConnection, connection) => {
        if (noConnection) return reject(noConnection);
        resolve({
          query: (text, values) => this.#query(connection, text, values),
          end: (error) => end(connection, error),
        });
      }),
    );
  }

  #query(connection: CallbackConnection, text: string, values: unknown[]): Promise<unknown> {
    // Rows have to be objects keyed by column, whatever the options of the pool say.
    const options = { values, rowsAsArray: false, nestTables: false, typeCast: true };
    return new Promise((resolve, reject) => {
      connection.query({ ...options, sql: endingBy(this.limit, text) }, (error, result) =>
        error === null ? resolve(result) : reject(error),
      );
    });
  }
}

/**
 * A statement with a time limit of its own: MariaDB ends it when the store has given it up, whatever it waits for. MySQL has no such option, and reads
 * that as a comment.
 */
function endingBy(limit: number, text: string): string {
  // Those of a migration have a limit of their own.
  if (/^(SET|CREATE|ALTER)\b/.test(text)) return text;
  const options = `${OPTIONS}max_statement_time = ${limit / 1_000}`;
  return text.startsWith(OPTIONS) ? `${options}, ${text.slice(OPTIONS.length)}` : `${options} FOR */ ${text}`;
}

/**
 * A broken connection, or one to a read-only server, must not go back to the pool. `destroy()` alone closes one side, and waits for the
 * server to close the other. Destroying the socket with an error also ends the last command of a silent connection, for which `pool.end()`
 * would otherwise wait for ever.
 */
function end(connection: CallbackConnection, error: Error | undefined): void {
  const { errno, fatal } = (error ?? {}) as { errno?: unknown; fatal?: unknown };
  const isSilent = error instanceof Silent;
  if (!isSilent && fatal !== true && !READ_ONLY.includes(Number(errno))) return connection.release();
  connection.destroy();
  const stream = Object(connection.stream) as { destroy?: (error?: Error) => void };
  if (isSilent) stream.destroy?.(error);
}
