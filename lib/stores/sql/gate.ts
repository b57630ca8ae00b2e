import { atEndOfTurn, type Clock, systemClock } from '../../base/clock.js';
import { quietly } from '../../base/quietly.js';

/** How many statements are under way at once: enough for every connection of a usual pool. */
const AT_ONCE = 20;
/** How many connections a pool has unless somebody says otherwise: in `pg`, and in `mysql2`. */
const USUAL = 10;
/** How long a statement waits for its turn, ms: as long as a caller waits by default. */
const TURN = 2_000;

/** A connection of a pool. */
export interface Connection {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
  /** Gives the connection back, after an error if there was one. `Silent`: closes it. */
  end(error?: Error): void;
}

/** The connections of a pool, or those that another client hides. */
export interface Connections {
  take(): Promise<Connection>;
  /** How many idle ones there are. */
  readonly idle: number;
  /** How many there can be; absent: as many as usual. */
  readonly most?: number | undefined;
}

/** A client that takes its connections itself, and has to close dead ones itself. */
export const hidden = (client: {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
}): Connections => ({
  take: () => Promise.resolve({ query: (text, values) => client.query(text, values), end: () => undefined }),
  idle: 0,
});

/** The server has not answered. */
export class Silent extends Error {}

interface UnderWay {
  /** Monotonic. */
  readonly since: number;
  giveUp(waited: number): void;
}

/**
 * The one way to a pool: so many statements are under way at once, each with its limit, and a connection that has not answered by then is
 * closed. Otherwise calls would pile up while a database is away, and the database would carry them out when their callers have given up.
 */
export class Gate {
  readonly #underWay = new Set<UnderWay>();
  readonly #waiting: (() => void)[] = [];
  #admitted = 0;

  /** @param limit milliseconds for a statement, the wait for a connection included */
  constructor(
    private readonly connections: Connections,
    private readonly limit: number,
    private readonly clock: Clock = systemClock,
    private readonly atOnce: number = AT_ONCE,
  ) {}

  /** A gate to the same connections that leaves two to the others: a table that is locked must hold up no statement on another one. */
  beside(): Gate {
    const { connections, limit, clock } = this;
    return new Gate(connections, limit, clock, Math.max(1, (connections.most ?? USUAL) - 2));
  }

  send(text: string, values: unknown[]): Promise<unknown> {
    return this.run((connection) => connection.query(text, values));
  }

  async run<T>(work: (connection: Connection) => PromiseLike<T>, limit: number = this.limit): Promise<T> {
    if (this.#admitted >= this.atOnce) await this.#turn();
    else this.#admitted += 1;
    try {
      return await this.#run(work, limit);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#admitted -= 1;
      else next();
    }
  }

  /**
   * Closes connections that may be dead: idle ones, and those of statements that have waited about as long as the caller who has given up.
   * The next statement gets a new one.
   */
  reconnect(silence: number | undefined): void {
    const { connections } = this;
    for (let { idle } = connections; idle > 0; idle--)
      connections.take().then(
        (connection) => connection.end(new Silent('it was idle when another one fell silent')),
        () => undefined,
      );
    if (silence === undefined) return;
    for (const each of this.#underWay) {
      const waited = this.clock.monotonic() - each.since;
      if (waited >= silence / 2) each.giveUp(Math.round(waited));
    }
  }

  #run<T>(work: (connection: Connection) => PromiseLike<T>, limit: number): Promise<T> {
    return new Promise((resolve, reject) => {
      let connection: Connection | undefined;
      let isOver = false;
      const end = (settle: () => void, error?: Error): void => {
        if (isOver) return;
        isOver = true;
        timer.cancel();
        this.#underWay.delete(own);
        try {
          connection?.end(error);
        } finally {
          settle();
        }
      };
      const fail = (error: Error): void => end(() => reject(error), error);
      const giveUp = (waited: number): void =>
        fail(
          connection === undefined
            ? notSent(`the pool had no connection within ${waited} ms`)
            : new Silent(`no answer within ${waited} ms, so the connection was closed`),
        );
      const own = { since: this.clock.monotonic(), giveUp };
      this.#underWay.add(own);
      const timer = this.#timer(() => giveUp(limit), limit);
      quietly(() => this.connections.take())
        .then((taken) => {
          connection = taken;
          // It was given up before it got a connection.
          if (!isOver) return quietly(() => work(taken)).then((result) => end(() => resolve(result)));
          return taken.end();
        })
        .catch(fail);
    });
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        timer.cancel();
        resolve();
      };
      const timer = this.#timer(() => {
        const place = this.#waiting.indexOf(enter);
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        reject(
          notSent(
            `${this.atOnce} statements wait for the database, and none was answered within ${TURN} ms: look for locked tables, and for statements that take long`,
          ),
        );
      }, TURN);
      this.#waiting.push(enter);
    });
  }

  /** First reads an answer that came while the event loop was blocked: a busy process is no silent database. */
  #timer(over: () => void, limit: number): { cancel(): void } {
    return this.clock.setTimer(() => atEndOfTurn(over), limit);
  }
}

/** Certainly not carried out. */
const notSent = (message: string): Error => Object.assign(new Error(message), { syscall: 'connect' });
