import { type Clock, nextTurn, type Timer } from '../base/clock.js';

interface Pending {
  readonly at: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until a test moves it. Give it as the option `clock` to `forRoot()`, `MemoryLockStore`
 * and `FakeLockStore`.
 */
export class ManualClock implements Clock {
  readonly #timers = new Set<Pending>();
  /** What to add to the monotonic time for the wall clock's: a sum of steps, of which some are fractions, would end beside the time. */
  #offset: number;
  #monotonic = 0;

  /** @param now the initial time, epoch milliseconds; the default is the start of 2026 */
  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#offset = now;
  }

  now(): number {
    return this.#offset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** How many timers are waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  setTimer(callback: () => void, delay: number): Timer {
    const timer = { at: this.#monotonic + Math.max(0, delay), callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /**
   * Moves time on, fires each timer when its time comes, and lets promises settle in between.
   *
   * @param milliseconds how far to move
   */
  async advance(milliseconds: number): Promise<void> {
    const end = this.#monotonic + milliseconds;
    for (;;) {
      await nextTurn();
      let next: Pending | undefined;
      for (const timer of this.#timers)
        if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#move(next.at);
      next.callback();
    }
    this.#move(end);
    await nextTurn();
  }

  /** Moves time on, but fires no timer until the next `advance()`: like a blocked event loop. */
  block(milliseconds: number): void {
    this.#move(this.#monotonic + milliseconds);
  }

  /** Sets the wall clock, but does not move time: like a machine whose clock is corrected. */
  setWallClock(now: number): void {
    this.#offset = now - this.#monotonic;
  }

  #move(to: number): void {
    this.#monotonic = Math.max(this.#monotonic, to);
  }
}
