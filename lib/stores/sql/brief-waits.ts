import type { Clock, Timer } from '../../clock.js';

/** How long a caller waits for a statement, ms: half as long as one waits for a release by default. */
const PATIENCE = 1_000;
/** How many statements are under way at the same time: half of the connections of a usual pool. */
const AT_ONCE = 5;

/** The statement has not been carried out yet. */
export const LATE: unique symbol = Symbol('late');

/**
 * Waits for statements that write into the table of the runs, but not for long. Somebody may have locked that table, for `VACUUM FULL` or
 * a change of its columns. PostgreSQL waits for it before it carries out any part of a statement, and no limit can be set within one.
 */
export class BriefWaits {
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  #late = 0;

  constructor(private readonly clock: Clock) {}

  /**
   * Settles as the statement does, or resolves to LATE: after a second, or at once if another one is late. Then the statement may still
   * be carried out.
   *
   * @param otherwise is called if it is late, and will not be carried out
   */
  async within<T>(statement: () => Promise<T>, otherwise: () => void): Promise<T | typeof LATE> {
    if (this.#late > 0) {
      otherwise();
      return LATE;
    }
    const sent = this.#inTurn(statement);
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

  async #inTurn<T>(statement: () => Promise<T>): Promise<T> {
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
