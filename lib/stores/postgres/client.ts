import { AS_SENT, isPlain, isPool, WatchedPool } from './pool.js';
import { quietly } from '../../base/quietly.js';
import type { Row } from '../sql/strange-rows.js';

/**
 * A client of PostgreSQL: a `Pool` of `pg`, or anything that takes `$1` parameters and answers the rows, or an object with them.
 * Each call has to be a transaction of its own, as usual without BEGIN.
 */
export interface PostgresClient {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
}

/** Sends statements to a client of PostgreSQL, and reads what each kind of client answers. */
export class Sender {
  /** `undefined` for other clients, which have to close dead connections themselves. */
  readonly #pool: WatchedPool | undefined;

  constructor(private readonly client: PostgresClient) {
    if (isPool(client) && isPlain(client)) this.#pool = new WatchedPool(client);
  }

  reconnect(silence: number | undefined): void {
    this.#pool?.reconnect(silence);
  }

  /** @param limit milliseconds until the statement is given up, by a pool of `pg` */
  async sendWithLimit(text: string, limit: number): Promise<void> {
    const { client } = this;
    await quietly(() =>
      isPool(client) ? client.query({ text, values: [], query_timeout: limit }) : client.query(text, []),
    );
  }

  async rows(statement: string, values: unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.send(statement, values));
  }

  send(text: string, values: unknown[]): PromiseLike<unknown> {
    return quietly(() => this.#send(text, values));
  }

  #send(text: string, values: unknown[]): PromiseLike<unknown> {
    if (this.#pool !== undefined) return this.#pool.query(text, values);
    const { client } = this;
    return isPool(client) ? client.query({ text, values, types: AS_SENT }) : client.query(text, values);
  }
}

/** Prisma and TypeORM answer an array of the rows; for an UPDATE, TypeORM answers a pair of the rows and their number. */
export function rowsOf(result: unknown): readonly Row[] {
  if (!Array.isArray(result)) return (result as { rows: Row[] }).rows;
  return Array.isArray(result[0]) ? (result[0] as Row[]) : (result as Row[]);
}

/**
 * How many rows an UPDATE has found, as the server reports. `undefined` if the answer does not name the command: then the number may be
 * that of the returned rows.
 */
export function countOf(result: unknown): number | undefined {
  const { command, rowCount } = Object(result) as Readonly<Record<string, unknown>>;
  return command === 'UPDATE' && typeof rowCount === 'number' ? rowCount : undefined;
}
