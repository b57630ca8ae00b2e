import type { Clock } from '../../clock.js';
import { isTrue } from '../sql/answers.js';
import { type MysqlClient, read, type Row } from './client.js';
import { type Sql, sql } from './sql-text.js';

/** A statement as it was sent. */
export interface Sent {
  /** The server's number of the connection; no number if it is not known. */
  readonly thread: number;
  /** With its values in it. */
  readonly text: string;
}

/** A statement that is to be ended. */
interface Left {
  readonly thread: number;
  /** Asks whether it still runs. */
  readonly look: Sql;
  looks: number;
}

/** The most statements that are kept to be ended, the newest: more than can be under way in a usual pool. */
const ROOM = 100;
/** How much of a text is compared, characters: PROCESSLIST has no more than 64 KiB of it. */
const COMPARED = 8_000;
/** How often a server is asked about a statement that it has not begun, as it is busy, and how long it is given in between, ms. */
const LOOKS = 3;
const PAUSE = 1_000;

/**
 * Ends at the server what nobody waits for any more. A server does not notice that a connection was closed while its
 * statement waits for a row that somebody else has locked: it goes on for `innodb_lock_wait_timeout`, and with each try
 * there would be one more of them, beyond what the pool allows.
 *
 * In the background, one at a time, and never more than that: a database that says nothing is asked again when it has answered
 * somebody, or when another statement is given up. Only a statement that the server shows to be that very one is ended, as behind
 * a proxy the number may be that of somebody else's connection. On MariaDB it has a number of its own for that, elsewhere the
 * connection is told to end what it is at.
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

  /** Begins, if there is something to end, and if that is not being done. */
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
      break;
    }
    this.#busy = false;
  }

  /** Ends a statement, if it runs. Answers whether the server said anything to it, be it no. */
  async #isAnswered(left: Left): Promise<boolean> {
    try {
      const [connection] = await read({ query: this.ask }, left.look);
      if (isTrue(connection?.['same'])) await this.ask(ending(left, connection), []);
      // It is there, and at nothing: what was sent on it has not been read yet.
      else if (connection?.['same'] === null && ++left.looks < LOOKS) {
        this.clock.setTimer(() => this.#push(left), PAUSE);
      }
      return true;
    } catch (error) {
      return Number((error as { errno?: unknown }).errno) > 0;
    }
  }
}

/** The look answers a row of the connection, if it is there. On MariaDB it has a `QUERY_ID`, which MySQL does not know. */
function leftBy({ thread, text }: Sent): Left {
  // What is not ASCII is not compared: the column cannot hold all of it.
  const start = text.slice(0, COMPARED).replaceAll(/[|%_]/g, '|$&');
  const pattern = `${start.replaceAll(/[^\n -~]+/g, '%')}%`;
  const look = sql`SELECT p.*, INFO LIKE ${pattern} ESCAPE '|' AS \`same\` FROM information_schema.PROCESSLIST p WHERE ID = ${thread}`;
  return { thread, look, looks: 0 };
}

function ending({ thread }: Left, connection: Row | undefined): string {
  const query = Number(connection?.['QUERY_ID']);
  return Number.isSafeInteger(query) ? `KILL QUERY ID ${query}` : `KILL QUERY ${thread}`;
}
