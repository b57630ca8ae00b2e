import { type Clock, nextTurn, systemClock } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';

/** A database that has not answered for this time counts as away, ms: as long as a caller waits by default. */
const SILENCE = 2_000;
/**
 * How many calls may wait for a database that is away: enough for every connection of a usual pool to notice that the database is back.
 */
const MAX_WAITING = 20;
/** The shortest and the longest time until one more call may probe whether the database is back, ms. */
const PROBE_AFTER = 2_000;
const PROBE_AFTER_AT_MOST = 60_000;

/**
 * Refuses calls while a database does not answer.
 *
 * 1. Otherwise calls would pile up, and the database would carry them out one by one when their callers have given up. A pool does not
 *    limit the number of calls that wait.
 * 2. Calls that wait may never get an answer: a network may have dropped their connections, and the driver may have no limit. So from
 *    time to time one more call gets through, perhaps on another connection: less and less often, until one is answered.
 */
export class OutageGate {
  #waiting = 0;
  /** Calls that were let in since the last answer. */
  #unanswered = 0;
  /** When the silence began: with the first call after the last answer. */
  #silentSince = 0;
  /** How many of the unanswered calls were let in during the silence. */
  #probes = 0;
  #lastEntered = 0;

  constructor(private readonly clock: Clock = systemClock) {}

  /**
   * Lets a call in: at once, or when the returned promise is fulfilled.
   * {@link leave} has to follow when the call has an answer.
   *
   * @throws StoreUnavailableError (`not-applied`), as a rejection, if too many calls wait already
   */
  enter(): Promise<void> | undefined {
    const now = this.clock.monotonic();
    if (this.#silence(now) >= SILENCE) {
      const pause = Math.min(PROBE_AFTER * (this.#probes + 1), PROBE_AFTER_AT_MOST);
      if (now - this.#lastEntered < pause) return this.#enterLate();
      this.#probes += 1;
    }
    if (this.#unanswered === 0) this.#silentSince = now;
    this.#unanswered += 1;
    this.#waiting += 1;
    this.#lastEntered = now;
    return undefined;
  }

  leave(): void {
    this.#waiting -= 1;
    // An error is an answer, too: from the database, or from the way to it.
    this.#unanswered = 0;
    this.#probes = 0;
  }

  /** For how long no call was answered while many wait, ms; 0 if fewer wait, or no call was made since the last answer. */
  #silence(now: number): number {
    return this.#waiting < MAX_WAITING || this.#unanswered === 0 ? 0 : now - this.#silentSince;
  }

  async #enterLate(): Promise<void> {
    // Perhaps this process was blocked, not the database. Then answers have arrived that the process has not read yet.
    await nextTurn();
    await nextTurn();
    const silence = this.#silence(this.clock.monotonic());
    if (silence >= SILENCE) {
      throw new StoreUnavailableError(
        `The database has not answered for ${Math.round(silence)} ms, and ${this.#waiting} calls wait for it.`,
        { outcome: 'not-applied' },
      );
    }
    await this.enter();
  }
}
