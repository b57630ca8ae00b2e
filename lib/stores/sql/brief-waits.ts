import type { Clock, Timer } from '../../clock.js';

/** How long a caller waits for a statement, ms: half as long as callers wait for a release by default. */
const PATIENCE = 1_000;
/** How many statements are under way at the same time: half of the connections of a usual pool. */
const AT_ONCE = 5;

/** The statement has not been carried out yet. */
export const LATE: unique symbol = Symbol('late');

/**
 * Waits for statements that write into the table of the runs, but not for long. Somebody may have locked that table, for `VACUUM FULL` or
 * a change of its columns. PostgreSQL waits for the lock before it carries out any part of a statement, and a statement cannot set itself a
 * limit.
 */
export class BriefWaits {
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  #late = 0;

  constructor(private readonly clock: Clock) {}

  /**
   * Settles as the statement does, or resolves to LATE: after a second, or at once if another statement is late. A late statement may
   * still be carried out.
   *
   * @param otherwise is called for a late statement that will not be carried out
   */
  async within<T>(statement: () => Promise<T>, otherwise: () => void): Promise<T | typeof LATE> {
    if (this.#late > 0) {
      otherwise();
      return LATE;
    }
    const sent = this.#afterOthers(statement);
    let timer: Timer | undefined;
    const passed = new Promise<typeof LATE>((resolve) => {
      timer = this.clock.setTimer(() => resolve(LATE), PATIENCE);
    });
    try {
      const first = await Promise.race([sent, passed]);
      if (first === LATE) this.#outlasts(sent, otherwise);
      return first;
    } finally {
      timer?.cancel();
    }
  }

  #outlasts(sent: Promise<unknown>, otherwise: () => void): void {
    this.#late += 1;
    void sent.catch(otherwise).finally(() => (this.#late -= 1));
  }

  async #afterOthers<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#underWay < AT_ONCE) this.#underWay += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await statement();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay -= 1;
      else next();
    }
  }
}
