import type { Connection, Connections } from '../sql/gate.js';

/** Leaves values as the server sends them: as texts. Parsers of a user turn values into anything. */
const AS_SENT = { getTypeParser: () => (value: unknown) => value };

interface PooledClient {
  query(statement: object): PromiseLike<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
  release(error?: Error): void;
}

export interface Pool {
  readonly idleCount: number;
  readonly options?: { readonly max?: number };
  listenerCount?(event: 'error'): number;
  connect(callback: (error: Error | undefined, client?: PooledClient) => void): unknown;
}

/** Whether a client is a pool of `pg`, whose connections can be closed. One whose `query()` was replaced has to be called. */
export function isPool(client: unknown): client is Pool {
  const { connect, idleCount } = Object(client) as Partial<Pool>;
  return (
    typeof connect === 'function' &&
    typeof idleCount === 'number' &&
    !Object.hasOwn(client as object, 'query')
  );
}

/** What a pool lacks; `undefined`: nothing. @param timeout of a statement, as the server tells it */
export function poolWarning(pool: Pool, timeout: string): string | undefined {
  const lacks = [
    pool.listenerCount?.('error') === 0 &&
      "pool.on('error', …): without it an idle connection that breaks ends the process",
    timeout === '0' &&
      'statement_timeout: 8_000: without it statements that wait for a locked row pile up in the server',
  ].filter((each) => each !== false);
  return lacks.length === 0 ? undefined : `The pool of PostgreSQL should have ${lacks.join('; and ')}.`;
}

export class PoolConnections implements Connections {
  constructor(private readonly pool: Pool) {}

  get idle(): number {
    return this.pool.idleCount;
  }

  get most(): number | undefined {
    return this.pool.options?.max;
  }

  /** By a callback, as the pool listens no more from then on, and a dying server may say so in the same packet as its welcome. */
  take(): Promise<Connection> {
    return new Promise((resolve, reject) => {
      // The statement fails as well. Without a listener the process would end.
      const use = (client?: PooledClient): void => {
        client?.on('error', ignore);
        if (client !== undefined) resolve(opened(client));
      };
      const answer = this.pool.connect((error, client) => (error ? reject(error) : use(client)));
      // One that somebody has replaced may take no callback.
      if (answer instanceof Promise) answer.then(use, reject);
    });
  }
}

const opened = (client: PooledClient): Connection => ({
  query: (text, values) => client.query({ text, values, types: AS_SENT }),
  end(error) {
    // The pool does the same in its query(): it trusts no connection with an error, and closes it. Until then the server may say more.
    if (error === undefined) client.off('error', ignore);
    client.release(error);
  },
});

const ignore = (): void => undefined;
