import type { Clock } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
import { describeFailure, type SqlFailure } from './failure.js';

/** How long people wait for a read of a table, ms. */
const READ_LIMIT = 3_000;
/** The pause before one more read of a silent table, ms. Twice as long each time, because each read may use up a connection for good. */
const FIRST_PAUSE = 3_000;
const MAX_RETRY_DELAY = 300_000;

/** A table that has not answered in time, nor any read since. */
interface Silence {
  pause: number;
  /** When one more read may ask the table, monotonic. */
  askAgain: number;
}

/**
 * Reads for people. A table that somebody has locked must not delay what the other tables say:
 *
 * 1. A read without an answer within the limit fails.
 * 2. Further reads of that table fail at once, so that they do not use up the connections.
 * 3. From time to time one read is sent nevertheless: the first one may have lost its connection.
 * 4. The first answer to any of these reads ends this.
 */
export class LimitedReads {
  readonly #silent = new Map<string, Silence>();

  constructor(
    private readonly clock: Clock,
    private readonly failure: (error: unknown) => SqlFailure,
  ) {}

  /** @param table as messages show it @param limit Infinity: no limit, for answers that may be long */
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

  /** The error of a read: names the table if the table is the reason. A database may have its own limit for the wait for a lock. */
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
    this.#leaveAlone(table, Math.min(silence.pause * 2, MAX_RETRY_DELAY));
    return true;
  }

  #leaveAlone(table: string, pause: number): void {
    this.#silent.set(table, { pause, askAgain: this.clock.monotonic() + pause });
  }
}

const refusalOf = (message: string): StoreUnavailableError =>
  new StoreUnavailableError(message, { outcome: 'not-applied', refused: true });
