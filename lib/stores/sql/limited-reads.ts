import type { Clock } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
import { describeFailure, type SqlFailure } from './failure.js';

/** How long people wait for a read of a table, ms. */
const READ_LIMIT = 3_000;

/**
 * Reads for people: a table that somebody has locked must neither keep them waiting nor use up the statements that may be under way. While
 * one read of it is late, further ones fail at once. That one ends by the limit of its statement at the latest.
 */
export class LimitedReads {
  readonly #late = new Set<string>();

  constructor(
    private readonly clock: Clock,
    private readonly failure: (error: unknown) => SqlFailure,
  ) {}

  /** @param table as messages show it @param limit Infinity: only that of the statement, for answers that may be long */
  within<T>(table: string, read: () => Promise<T>, limit: number = READ_LIMIT): Promise<T> {
    const refusal = refusalOf(
      `The table ${table} has not answered within ${READ_LIMIT / 1_000} s. Somebody may have locked it (LOCK TABLE, ALTER TABLE).`,
    );
    if (this.#late.has(table)) return Promise.reject(refusal);
    if (limit === Infinity) return read();
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(() => {
        this.#late.add(table);
        reject(refusal);
      }, limit);
      void read()
        .then(resolve, reject)
        .finally(() => {
          timer.cancel();
          this.#late.delete(table);
        });
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
}

const refusalOf = (message: string): StoreUnavailableError =>
  new StoreUnavailableError(message, { outcome: 'not-applied', refused: true });
