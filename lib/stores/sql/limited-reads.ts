import type { Clock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import { describeFailure, type SqlFailure } from './failure.js';

/** How long people wait for what a table says, ms. */
export const READ_LIMIT = 3_000;

/**
 * Reads for people. A table that somebody has locked must not hold up what the others say: it refuses to tell when the limit is over, and
 * at once as long as a read still waits for it, so that those do not use up the connections.
 */
export class LimitedReads {
  /** How many reads wait for a table, of those that have waited too long. */
  readonly #waiting = new Map<string, number>();

  constructor(
    private readonly clock: Clock,
    private readonly failure: (error: unknown) => SqlFailure,
  ) {}

  /** @param table as messages show it @param limit Infinity: the answer may be so long that it takes its time */
  within<T>(table: string, read: () => Promise<T>, limit: number = READ_LIMIT): Promise<T> {
    const refusal = refusalOf(
      `The table ${table} has not answered within ${READ_LIMIT / 1_000} s. Somebody may have locked it (LOCK TABLE, ALTER TABLE).`,
    );
    if (this.#waiting.has(table)) return Promise.reject(refusal);
    if (limit === Infinity) return read();
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = this.clock.setTimer(() => {
        isLate = true;
        this.#count(table, 1);
        reject(refusal);
      }, limit);
      const done = (): void => {
        timer.cancel();
        if (isLate) this.#count(table, -1);
      };
      void read().then(resolve, reject).finally(done);
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

  #count(table: string, more: number): void {
    const count = (this.#waiting.get(table) ?? 0) + more;
    if (count > 0) this.#waiting.set(table, count);
    else this.#waiting.delete(table);
  }
}

const refusalOf = (message: string): StoreUnavailableError =>
  new StoreUnavailableError(message, { outcome: 'not-applied', refused: true });
