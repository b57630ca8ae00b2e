import { type Clock, systemClock } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';

/** A database that has answered nothing for so long is away, ms: as long as a caller waits by default. */
const SILENCE = 2_000;
/** How many calls may wait for one that is away: enough for every connection of a usual pool to find out that it is back. */
const MAX_WAITING = 20;
/** The shortest and the longest time until one more call may find out whether it is back, ms. */
const PROBE_AFTER = 2_000;
const PROBE_AFTER_AT_MOST = 60_000;

/**
 * Turns calls away while a database does not answer, instead of letting them pile up before it, to be carried out one by
 * one when nobody waits for them any more. A pool knows no such end.
 *
 * Those that wait may never be told anything: where a network dropped their connections, and the driver has no limit. So one
 * more gets through now and then, on a connection that may be another one; less and less often while none is answered.
 */
export class OutageGate {
  #waiting = 0;
  /** Calls that were let in since the last answer. */
  #unanswered = 0;
  /** When the silence began: with the first call after the last answer. */
  #silentSince = 0;
  /** Those of the unanswered calls that were let in during a silence. */
  #probes = 0;
  #lastEntered = 0;

  constructor(private readonly clock: Clock = systemClock) {}

  /**
   * Lets a call in: at once, or when the promise it answers is fulfilled. {@link leave} has to follow, when it has an answer.
   *
   * @throws StoreUnavailableError (`not-applied`), by the promise, if too many calls wait already
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
    // An error is an answer, too: of the database, or of the way to it.
    this.#unanswered = 0;
    this.#probes = 0;
  }

  /** For how long nothing was answered while many wait, ms; 0 if fewer do, or nobody asked since the last answer. */
  #silence(now: number): number {
    return this.#waiting < MAX_WAITING || this.#unanswered === 0 ? 0 : now - this.#silentSince;
  }

  async #enterLate(): Promise<void> {
    // Perhaps it was this process that was silent: then answers have arrived that nobody has read yet.
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

/** After what has arrived was read: between two of these the event loop has looked at all of its sockets. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
