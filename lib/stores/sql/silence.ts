import { atEndOfTurn, type Clock } from '../../base/clock.js';

/** How long an idle connection may take to answer a trivial statement, ms. */
const PROBE = 500;

/** A statement under way on a connection of a pool. */
export interface Statement {
  /** Monotonic. */
  readonly sentAt: number;
  /** Closes the connection, and fails the statement. */
  giveUp(waited: number): void;
}

/** An idle connection that was taken out of its pool. */
export interface IdleConnection {
  ask(answered: (error?: Error | null) => void): void;
  giveBack(): void;
  close(waited: number): void;
}

/** Knows the statements under way, and which connections to close when one is found dead. */
export class Silence {
  readonly #underWay = new Set<Statement>();

  constructor(private readonly clock: Clock) {}

  sent(giveUp: (waited: number) => void): Statement {
    const statement = { sentAt: this.clock.monotonic(), giveUp };
    this.#underWay.add(statement);
    return statement;
  }

  ended(statement: Statement): void {
    this.#underWay.delete(statement);
  }

  /** Gives up statements that have waited about as long as the caller who has given up: their connections may be dead, too. */
  giveUp(silence: number): void {
    const now = this.clock.monotonic();
    for (const statement of this.#underWay) {
      const waited = now - statement.sentAt;
      if (waited >= silence / 2) statement.giveUp(Math.round(waited));
    }
  }

  /**
   * Gives an idle connection back to its pool when the connection has answered; closes it if it does not answer. Until then no statement
   * gets the connection: other statements get one that has answered, or a new one.
   */
  probe(connection: IdleConnection): void {
    let over = false;
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      timer.cancel();
      settle();
    };
    // First reads an answer that came while the event loop was blocked.
    const timer = this.clock.setTimer(() => atEndOfTurn(() => end(() => connection.close(PROBE))), PROBE);
    connection.ask((error) => end(() => (error ? connection.close(PROBE) : connection.giveBack())));
  }
}
