import { type MysqlClient, read, type Row } from './client.js';
import { type Sql, sql } from './sql-text.js';

/** A statement as it was sent. */
export interface Sent {
  /** The server's number of the connection; no number if it is not known. */
  readonly thread: number;
  /** With its values in it. */
  readonly text: string;
}

/** How to see whether it still runs. */
interface Look {
  readonly thread: number;
  readonly look: Sql;
}

/** The most statements that are kept to be ended, the newest: more than can be under way in a usual pool. */
const ROOM = 100;
/** How much of a text is compared, characters: PROCESSLIST has no more than 64 KiB of it. */
const COMPARED = 8_000;

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
  readonly #statements: Look[] = [];
  #busy = false;

  constructor(private readonly ask: MysqlClient['query']) {}

  add(sent: Sent): void {
    if (!Number.isSafeInteger(sent.thread) || sent.thread <= 0) return;
    this.#statements.push(lookOf(sent));
    if (this.#statements.length > ROOM) this.#statements.shift();
    this.end();
  }

  /** Begins, if there is something to end, and if that is not being done. */
  end(): void {
    if (this.#statements.length > 0 && !this.#busy) void this.#endAll();
  }

  async #endAll(): Promise<void> {
    this.#busy = true;
    try {
      for (let sent = this.#statements.shift(); sent !== undefined; sent = this.#statements.shift()) {
        if (await this.#isAnswered(sent)) continue;
        this.#statements.unshift(sent);
        return;
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Ends a statement, if it runs. Answers whether the server said anything to it, be it no. */
  async #isAnswered({ thread, look }: Look): Promise<boolean> {
    try {
      const [found] = await read({ query: this.ask }, look);
      if (found !== undefined) await this.ask(ending(thread, found), []);
      return true;
    } catch (error) {
      return Number((error as { errno?: unknown }).errno) > 0;
    }
  }
}

/** Whether a connection is at this statement: one row, or none. On MariaDB it has a `QUERY_ID`, which MySQL does not know. */
function lookOf({ thread, text }: Sent): Look {
  // What is not ASCII is not compared: the column cannot hold all of it.
  const start = text.slice(0, COMPARED).replaceAll(/[|%_]/g, '|$&');
  const pattern = `${start.replaceAll(/[^\n -~]+/g, '%')}%`;
  const look = sql`SELECT * FROM information_schema.PROCESSLIST WHERE ID = ${thread} AND INFO LIKE ${pattern} ESCAPE '|'`;
  return { thread, look };
}

function ending(thread: number, found: Row): string {
  const query = Number(found['QUERY_ID']);
  return Number.isSafeInteger(query) ? `KILL QUERY ID ${query}` : `KILL QUERY ${thread}`;
}
