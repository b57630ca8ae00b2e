import { type Clock, systemClock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';

/** A database that has answered nothing for so long is away, ms: as long as a caller waits by default. */
const SILENCE = 2_000;
/** How many calls may wait for one that is away: enough for every connection of a usual pool to find out that it is back. */
const MAX_WAITING = 20;

/**
 * Turns calls away while a database does not answer, instead of letting them pile up before it, to be carried out one by
 * one when nobody waits for them any more. A pool knows no such end.
 */
export class OutageGate {
  #waiting = 0;
  /** When the silence began: with the first call after the last answer. */
  #silentSince = 0;

  constructor(private readonly clock: Clock = systemClock) {}

  /**
   * @throws StoreUnavailableError (`not-applied`) if too many calls wait already
   */
  async pass<T>(call: () => Promise<T>): Promise<T> {
    const now = this.clock.monotonic();
    if (this.#waiting === 0) this.#silentSince = now;
    const silence = now - this.#silentSince;
    if (this.#waiting >= MAX_WAITING && silence >= SILENCE) {
      throw new StoreUnavailableError(
        `The database has not answered for ${Math.round(silence)} ms, and ${this.#waiting} calls wait for it.`,
        { outcome: 'not-applied' },
      );
    }
    this.#waiting += 1;
    try {
      return await call();
    } finally {
      this.#waiting -= 1;
      // An error is an answer, too: of the database, or of the way to it.
      this.#silentSince = this.clock.monotonic();
    }
  }
}
