import type { Clock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import { describeFailure, type SqlFailure } from './failure.js';

/** How long people wait for what a table says, ms. */
export const READ_LIMIT = 3_000;
/** How long a silent table is left alone before one more read, ms: twice as long each time, as each may use up a connection for good. */
const FIRST_PAUSE = 3_000;
const LONGEST_PAUSE = 300_000;

/** A table that has not answered in time, and no read of it has been answered since. */
interface Silence {
  pause: number;
  /** When one more read may ask it, monotonic. */
  askAgain: number;
}

/**
 * Reads for people. A table that somebody has locked must not hold up what the others say: it refuses to tell when the limit is over, and
 * then at once, so that those who ask again do not use up the connections. Now and then one read asks all the same: the one that waits
 * may have lost its connection. The first answer of any read ends that.
 */
export class LimitedReads {
  readonly #silent = new Map<string, Silence>();

  constructor(
    private readonly clock: Clock,
    private readonly failure: (error: unknown) => SqlFailure,
  ) {}

  /** @param table as messages show it @param limit Infinity: the answer may be so long that it takes its time */
  within<T>(table: string, read: () => Promise<T>, limit: number = READ_LIMIT): Promise<T> {
    const refusal = refusalOf(
      `The table ${table} has not answered within ${READ_LIMIT / 1_000} s. Somebody may have locked it (LOCK TABLE, ALTER TABLE).`,
    );
    if (!this.#mayAsk(table)) return Promise.reject(refusal);
    const answer = read().finally(() => this.#silent.delete(table));
    if (limit === Infinity) return answer;
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(() => {
        if (!this.#silent.has(table)) this.#leaveAlone(table, FIRST_PAUSE);
        reject(refusal);
      }, limit);
      void answer.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  /** An error of a read, which names the table if it is about that. A database may have a limit of its own for the wait. */
  refused(table: string, error: unknown): unknown {
    const failure = this.failure(error);
    if (failure === 'locked')
      return refusalOf(`Somebody has locked the table ${table}: ${describeFailure(error)}.`);
    if (failure !== 'forbidden') return error;
    return refusalOf(`The user may not read the table ${table}: ${describeFailure(error)}. Give it SELECT.`);
  }

  #mayAsk(table: string): boolean {
    const silence = this.#silent.get(table);
    if (silence === undefined) return true;
    if (this.clock.monotonic() < silence.askAgain) return false;
    this.#leaveAlone(table, Math.min(silence.pause * 2, LONGEST_PAUSE));
    return true;
  }

  #leaveAlone(table: string, pause: number): void {
    this.#silent.set(table, { pause, askAgain: this.clock.monotonic() + pause });
  }
}

const refusalOf = (message: string): StoreUnavailableError =>
  new StoreUnavailableError(message, { outcome: 'not-applied', refused: true });
