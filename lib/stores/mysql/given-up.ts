import type { Clock } from '../../clock.js';
import { isTrue } from '../sql/answers.js';
import { type MysqlClient, read, type Row } from './client.js';
import { type Sql, sql } from './sql-text.js';

/** A statement as it was sent. */
export interface Sent {
  /** The id of the connection at the server; `NaN` if it is not known. */
  readonly thread: number;
  /** The statement with its values in place. */
  readonly text: string;
}

/** A statement that has to be ended. */
interface Left {
  readonly thread: number;
  /** Asks whether the statement still runs. */
  readonly look: Sql;
  /** How often the server had not begun the statement. */
  looks: number;
  /** How often the server did not answer. */
  silences: number;
}

/** How many statements are kept, the newest: more than can be under way in a usual pool. */
const ROOM = 100;
/** How much of a text is compared, characters: PROCESSLIST shows no more than 64 KiB of it. */
const COMPARED = 8_000;
/** How often a server is asked that is busy (it has not begun the statement yet) or silent, and the pause in between, ms. */
const LOOKS = 3;
const PAUSE = 1_000;

/**
 * Ends abandoned statements at the server. A server does not notice a closed connection while its statement waits for a row that
 * another transaction has locked: the statement goes on for `innodb_lock_wait_timeout`. Each new try would add one more such
 * statement, beyond the limit of the pool.
 *
 * Works in the background, on one statement at a time. A silent database is asked again a few times, then when it has answered
 * another call, or when another statement is given up. A statement is ended only if the server shows that very text: behind a
 * proxy, the id may belong to another client's connection. On MariaDB the statement has an id of its own for `KILL QUERY ID`;
 * elsewhere `KILL QUERY` ends the current statement of the connection.
 */
export class GivenUp {
  readonly #statements: Left[] = [];
  #busy = false;

  constructor(
    private readonly ask: MysqlClient['query'],
    private readonly clock: Clock,
  ) {}

  add(sent: Sent): void {
    if (!Number.isSafeInteger(sent.thread) || sent.thread <= 0) return;
    this.#push(leftBy(sent));
  }

  /** Begins, if there is a statement to end, and it is not at work already. */
  end(): void {
    if (this.#statements.length > 0 && !this.#busy) void this.#endAll();
  }

  #push(statement: Left): void {
    this.#statements.push(statement);
    if (this.#statements.length > ROOM) this.#statements.shift();
    this.end();
  }

  async #endAll(): Promise<void> {
    this.#busy = true;
    for (let left = this.#statements.shift(); left !== undefined; left = this.#statements.shift()) {
      if (await this.#isAnswered(left)) continue;
      this.#statements.unshift(left);
      if (++left.silences < LOOKS) this.clock.setTimer(() => this.end(), PAUSE);
      break;
    }
    this.#busy = false;
  }

  /** Ends a statement if it runs. Returns whether the server answered at all, also with an error. */
  async #isAnswered(left: Left): Promise<boolean> {
    try {
      const [connection] = await read({ query: this.ask }, left.look);
      if (isTrue(connection?.['same'])) await this.ask(ending(left, connection), []);
      // The connection exists, but is idle: the server has not read the statement yet.
      else if (connection?.['same'] === null && ++left.looks < LOOKS) {
        this.clock.setTimer(() => this.#push(left), PAUSE);
      }
      return true;
    } catch (error) {
      return Number((error as { errno?: unknown }).errno) > 0;
    }
  }
}

/** The look returns the row of the connection, if it exists. On MariaDB the row has a `QUERY_ID`, which MySQL does not know. */
function leftBy({ thread, text }: Sent): Left {
  // Characters beyond ASCII are not compared: the column cannot hold all of them.
  const start = text.slice(0, COMPARED).replaceAll(/[|%_]/g, '|$&');
  const pattern = `${start.replaceAll(/[^\n -~]+/g, '%')}%`;
  const look = sql`SELECT p.*, INFO LIKE ${pattern} ESCAPE '|' AS \`same\` FROM information_schema.PROCESSLIST p WHERE ID = ${thread}`;
  return { thread, look, looks: 0, silences: 0 };
}

function ending({ thread }: Left, connection: Row | undefined): string {
  const query = Number(connection?.['QUERY_ID']);
  return Number.isSafeInteger(query) ? `KILL QUERY ID ${query}` : `KILL QUERY ${thread}`;
}
