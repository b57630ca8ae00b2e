import { type Clock, systemClock } from '../../clock.js';

/** The shortest and the longest patience, ms. */
const SHORTEST = 100;
const LONGEST = 1_000;
/** How many times as long as an answer takes. */
const FACTOR = 3;
/** How much of a slower answer counts: one that waits for a locked row says little of the next. */
const SLOWER = 1 / 8;

/**
 * How long attempts wait for those before them, or for a look: a few times as long as an answer took lately, so that a database far
 * away is not asked again before it can have answered. An attempt that waits for a locked row, or that drew a connection on which
 * nobody answers, must not keep the others back.
 */
export class Patience {
  /** How long an answer takes, ms. */
  #usual: number | undefined;

  constructor(private readonly clock: Clock = systemClock) {}

  /** The same work, whose answer counts. */
  async measured<T>(work: Promise<T>): Promise<T> {
    const sentAt = this.clock.monotonic();
    const result = await work;
    const took = this.clock.monotonic() - sentAt;
    this.#usual =
      this.#usual === undefined || took < this.#usual ? took : this.#usual + (took - this.#usual) * SLOWER;
    return result;
  }

  /** The outcome of the work, or `otherwise` if there is none yet when patience is over: then the work goes on. */
  inTime<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
    const limit = Math.min(Math.max(FACTOR * (this.#usual ?? 0), SHORTEST), LONGEST);
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(() => resolve(otherwise), limit);
      void work.then(resolve, reject).finally(() => timer.cancel());
    });
  }
}
