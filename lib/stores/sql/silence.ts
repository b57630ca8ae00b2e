import { atEndOfTurn, type Clock } from '../../clock.js';

/** How long an idle connection may take to answer a question without any work, ms. */
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

/** The statements under way, and which connections to give up when one is found dead. */
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

  /** Gives up what has waited about as long as a caller that has given up: the other connections may be as dead as its one. */
  giveUp(silence: number): void {
    const now = this.clock.monotonic();
    for (const statement of this.#underWay) {
      const waited = now - statement.sentAt;
      if (waited >= silence / 2) statement.giveUp(Math.round(waited));
    }
  }

  /**
   * Gives an idle connection back to its pool when it has answered. Until then nobody gets it: whoever comes meanwhile gets one that
   * has answered, or a new one. Closes it if it does not answer.
   */
  probe(connection: IdleConnection): void {
    let over = false;
    const end = (settle: () => void): void => {
      if (over) return;
      over = true;
      timer.cancel();
      settle();
    };
    // An answer that has come while the event loop was blocked is read first.
    const timer = this.clock.setTimer(() => atEndOfTurn(() => end(() => connection.close(PROBE))), PROBE);
    connection.ask((error) => end(() => (error ? connection.close(PROBE) : connection.giveBack())));
  }
}
