/** A pending timer. `cancel` is idempotent and does nothing once the timer has fired. */
export interface Timer {
  cancel(): void;
}

/**
 * The only way time enters this library. Tests pass a manual clock.
 */
export interface Clock {
  /** Wall-clock time, epoch milliseconds. Shown to people, never used to measure. */
  now(): number;
  /** Milliseconds on a clock that never jumps or runs backwards; only differences mean something. */
  monotonic(): number;
  /**
   * Calls `callback` once, `delay` milliseconds from now or later. Delays of any length are kept, also beyond
   * the 24.8 days after which `setTimeout` fires at once.
   *
   * A timer does not keep the process alive unless `keepAlive` is set.
   */
  setTimer(callback: () => void, delay: number, options?: { keepAlive?: boolean }): Timer;
}

/** The longest delay that Node's `setTimeout` keeps (2^31 - 1 ms); a longer one fires at once. */
const MAX_DELAY = 2_147_483_647;

/** The clock of this machine: `Date.now`, `process.hrtime` and `setTimeout`. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1_000 + nanoseconds / 1e6;
  },
  setTimer: (callback, delay, options) => {
    let handle: NodeJS.Timeout;
    const arm = (left: number): void => {
      const step = Math.min(left, MAX_DELAY);
      handle = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
      if (!options?.keepAlive) handle.unref();
    };
    // Rounded up: a timer that fires a fraction early finds nothing due and has to be armed again.
    arm(Math.max(0, Math.ceil(delay)));
    return { cancel: () => clearTimeout(handle) };
  },
};
