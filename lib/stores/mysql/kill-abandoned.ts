import type { Clock } from '../../clock.js';
import { isTrue } from '../sql/answers.js';
import { type MysqlClient, read } from './client.js';
import { sql } from './sql-text.js';

/** A statement that was sent, and given up. */
export interface Abandoned {
  /** The id of its connection at the server; `NaN` if not known. */
  readonly thread: number;
  /** The statement with its values in place. */
  readonly text: string;
}

/** How many statements are kept, the newest ones: more than a usual pool can have under way. */
const ROOM = 100;
/** How much of a text is compared, characters: PROCESSLIST shows no more than 64 KiB of it. */
const COMPARED = 8_000;
/** How often to ask a server that is busy (it has not begun the statement yet) or silent, and the pause in between, ms. */
const CHECKS = 3;
const PAUSE = 1_000;

/**
 * Kills abandoned statements at the server, in the background and one at a time.
 *
 * 1. A server does not notice a closed connection while the statement waits for a row that another transaction has locked: the statement
 *    goes on for `innodb_lock_wait_timeout`. Each new try would add one more, beyond the limit of the pool.
 * 2. MySQL has no limit of time for a write that the statement itself could set.
 * 3. A silent database is asked again a few times; after that, when {@link resume} is called or another statement is abandoned.
 */
export class KillAbandoned {
  readonly #queue: (Abandoned & { readonly checks: number })[] = [];
  #silences = 0;
  #busy = false;

  constructor(
    private readonly ask: MysqlClient['query'],
    private readonly clock: Clock,
  ) {}

  /** @param checks how often the server had not begun the statement */
  add({ thread, text }: Abandoned, checks = 0): void {
    if (!Number.isSafeInteger(thread) || thread <= 0) return;
    this.#queue.push({ thread, text: text.slice(0, COMPARED), checks });
    if (this.#queue.length > ROOM) this.#queue.shift();
    this.resume();
  }

  /** Call this when the database has answered another call: begins, if there is a statement to kill. */
  resume(): void {
    if (this.#queue.length > 0 && !this.#busy) void this.#killAll();
  }

  async #killAll(): Promise<void> {
    this.#busy = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      if (await this.#isAnswered(next)) {
        this.#silences = 0;
        continue;
      }
      this.#queue.unshift(next);
      this.#silences += 1;
      if (this.#silences < CHECKS) this.clock.setTimer(() => this.resume(), PAUSE);
      break;
    }
    this.#busy = false;
  }

  /**
   * Kills a statement, if the server shows this very text on the connection: behind a proxy, the id may belong to another client's
   * connection. Returns whether the server answered, even with an error.
   */
  async #isAnswered({ thread, text, checks }: Abandoned & { readonly checks: number }): Promise<boolean> {
    // Compares only ASCII: the column cannot hold all other characters.
    const start = text.replaceAll(/[|%_]/g, '|$&');
    const pattern = `${start.replaceAll(/[^\n -~]+/g, '%')}%`;
    const check = sql`SELECT p.*, INFO LIKE ${pattern} ESCAPE '|' AS \`same\` FROM information_schema.PROCESSLIST p WHERE ID = ${thread}`;
    try {
      const [connection] = await read({ query: this.ask }, check);
      // The connection exists, and is idle: the server has not read the statement yet.
      if (connection?.['same'] === null && checks + 1 < CHECKS) {
        this.clock.setTimer(() => this.add({ thread, text }, checks + 1), PAUSE);
      }
      if (!isTrue(connection?.['same'])) return true;
      // On MariaDB the statement has an id of its own. On MySQL this ends the current statement of the connection.
      const id = Number(connection?.['QUERY_ID']);
      await this.ask(Number.isSafeInteger(id) ? `KILL QUERY ID ${id}` : `KILL QUERY ${thread}`, []);
      return true;
    } catch (error) {
      return Number((error as { errno?: unknown }).errno) > 0;
    }
  }
}
