import { type Clock, systemClock } from '../../base/clock.js';
import { quietly } from '../../base/quietly.js';
import { Silence } from '../sql/silence.js';
import type { ListeningClient } from './notifications.js';

/**
 * Leaves values as the server sends them: as texts. A user may have set parsers, for a pool or for the whole process, that turn values into
 * anything.
 */
export const AS_SENT = { getTypeParser: () => (value: unknown) => value };

/** A statement of `pg`. */
interface Statement {
  readonly text: string;
  readonly values: unknown[];
  readonly types?: typeof AS_SENT;
  /** Closes the connection if it does not answer within this time, ms. */
  readonly query_timeout?: number;
}

type Callback = (error: Error | null | undefined, result?: unknown) => void;

/** A connection of a pool of `pg`. */
interface PooledClient {
  query(statement: Statement, callback: Callback): void;
  once(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** A pool of `pg`, which takes a limit per statement, and closes a connection that does not answer within it. */
export interface Pool {
  readonly Client: new (config: object) => ListeningClient;
  readonly options: object;
  readonly totalCount: number;
  readonly idleCount: number;
  query(statement: Statement): Promise<unknown>;
  connect(
    callback: (
      error: Error | undefined,
      client: PooledClient,
      /** With an error: closes the connection. */
      release: (error?: Error) => void,
    ) => void,
  ): void;
}

/** Whether a client is a pool of `pg`: another client's `query()` may not take an object. */
export function isPool(client: unknown): client is Pool {
  const { connect, totalCount } = Object(client) as Readonly<Record<string, unknown>>;
  return typeof connect === 'function' && typeof totalCount === 'number';
}

/** Whether nobody has replaced `query()` alone. A replacement has to be called. */
export function isPlain(pool: Pool): boolean {
  const { idleCount } = pool as Partial<Pool>;
  return typeof idleCount === 'number' && ownerOf(pool, 'query') === ownerOf(pool, 'connect');
}

function ownerOf(object: object, key: string): object | null {
  let owner: object | null = object;
  while (owner !== null && !Object.hasOwn(owner, key)) owner = Object.getPrototypeOf(owner) as object | null;
  return owner;
}

/**
 * Sends statements through a pool of `pg` as `query()` of the pool does, and knows on which connections. The pool itself keeps a dead
 * connection until `query_timeout`, and hands out others that are dead, too.
 */
export class WatchedPool {
  readonly #silence: Silence;

  constructor(
    private readonly pool: Pool,
    clock: Clock = systemClock,
  ) {
    this.#silence = new Silence(clock);
  }

  query(text: string, values: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.pool.connect((noConnection, client, release) => {
        if (noConnection) return reject(noConnection);
        let over = false;
        const end: Callback = (error, result) => {
          if (over) return;
          over = true;
          client.off('error', end);
          this.#silence.ended(statement);
          // The pool does the same: it trusts no connection with an error.
          release(error ?? undefined);
          if (error) reject(error);
          else resolve(result);
        };
        const statement = this.#silence.sent((waited) => end(silent(waited)));
        client.once('error', end);
        try {
          quietly(() => client.query({ text, values, types: AS_SENT }, end));
        } catch (error) {
          end(error as Error);
        }
      });
    });
  }

  /** Closes dead connections. The next statement gets a connection that has answered meanwhile, or a new one. */
  reconnect(silence: number | undefined): void {
    for (let idle = this.pool.idleCount; idle > 0; idle--) this.#probe();
    if (silence !== undefined) this.#silence.giveUp(silence);
  }

  #probe(): void {
    this.pool.connect((noConnection, client, release) => {
      if (noConnection) return;
      const onError = (): void => undefined;
      client.once('error', onError);
      const giveBack = (error?: Error): void => {
        client.off('error', onError);
        release(error);
      };
      this.#silence.probe({
        ask: (answered) => quietly(() => client.query({ text: 'SELECT 1', values: [] }, answered)),
        giveBack: () => giveBack(),
        close: (waited) => giveBack(silent(waited)),
      });
    });
  }
}

const silent = (waited: number): Error =>
  new Error(`no answer within ${waited} ms, so the connection was closed`);
