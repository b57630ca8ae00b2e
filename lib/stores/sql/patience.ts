import { type Clock, systemClock } from '../../clock.js';

/** The shortest and the longest patience, ms. */
const SHORTEST = 100;
const LONGEST = 1_000;
/** How many times as long as an answer takes. */
const FACTOR = 3;
/** How much a slower answer counts: an answer that waited for a locked row says little of the next one. */
const SLOWER = 1 / 8;

/**
 * How long attempts wait for those before them, or for a read: a few times as long as answers took lately. So nobody asks a distant
 * database again before it can have answered. And an attempt that waits for a locked row, or whose connection is dead, does not keep the
 * others back for long.
 */
export class Patience {
  /** How long an answer takes, ms. */
  #usual: number | undefined;

  constructor(private readonly clock: Clock = systemClock) {}

  /** Returns the work, and measures how long its answer takes. */
  async measured<T>(work: Promise<T>): Promise<T> {
    const sentAt = this.clock.monotonic();
    const result = await work;
    const took = this.clock.monotonic() - sentAt;
    this.#usual =
      this.#usual === undefined || took < this.#usual ? took : this.#usual + (took - this.#usual) * SLOWER;
    return result;
  }

  /** The outcome of the work; `otherwise` if there is none when patience is over. Then the work goes on. */
  inTime<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
    const limit = Math.min(Math.max(FACTOR * (this.#usual ?? 0), SHORTEST), LONGEST);
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(() => resolve(otherwise), limit);
      void work.then(resolve, reject).finally(() => timer.cancel());
    });
  }
}
