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
   * Lets a call in: at once, or when the promise it answers is fulfilled. {@link leave} has to follow, when it has an answer.
   *
   * @throws StoreUnavailableError (`not-applied`), by the promise, if too many calls wait already
   */
  enter(): Promise<void> | undefined {
    if (this.#silence() >= SILENCE) return this.#enterLate();
    if (this.#waiting === 0) this.#silentSince = this.clock.monotonic();
    this.#waiting += 1;
    return undefined;
  }

  leave(): void {
    this.#waiting -= 1;
    // An error is an answer, too: of the database, or of the way to it.
    this.#silentSince = this.clock.monotonic();
  }

  /** For how long nothing was answered while many wait, ms; 0 if fewer do. */
  #silence(): number {
    return this.#waiting < MAX_WAITING ? 0 : this.clock.monotonic() - this.#silentSince;
  }

  async #enterLate(): Promise<void> {
    // Perhaps it was this process that was silent: then answers have arrived that nobody has read yet.
    await nextTurn();
    await nextTurn();
    const silence = this.#silence();
    if (silence >= SILENCE) {
      throw new StoreUnavailableError(
        `The database has not answered for ${Math.round(silence)} ms, and ${this.#waiting} calls wait for it.`,
        { outcome: 'not-applied' },
      );
    }
    await this.enter();
  }
}

/** After what has arrived was read: between two of these the event loop has looked at all of its sockets. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
