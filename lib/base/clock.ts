import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers';

/** A pending timer. `cancel` is idempotent and does nothing once the timer has fired. */
export interface Timer {
  cancel(): void;
}

// Fails at once, with a message of one line, before a missing API would fail somewhere else.
if (typeof AsyncLocalStorage.snapshot !== 'function') {
  throw new Error(`nestjs-scheduler-lock needs Node.js 20 or newer, and this is ${process.version}.`);
}

/** The only way time enters this library. Tests pass a manual clock. */
export interface Clock {
  /** Wall-clock time, epoch milliseconds. Never used to measure durations. */
  now(): number;
  /** Milliseconds on a clock that never jumps or runs backwards; only differences mean something. */
  monotonic(): number;
  /**
   * Calls `callback` once, `delay` milliseconds from now or later, also beyond the 24.8 days above which `setTimeout` fires at once. Keeps
   * the process alive only with `keepAlive`. Does not fire in the async context of the code that set it.
   */
  setTimer(callback: () => void, delay: number, options?: { keepAlive?: boolean }): Timer;
}

/**
 * Calls `callback` in the async context in which this module was loaded. Code that serves many callers, or runs later, must not run in the
 * context of one of them: traces and request ids would mix, and locks would be nested by accident.
 */
export const inModuleContext: <A extends unknown[], T>(callback: (...args: A) => T, ...args: A) => T =
  AsyncLocalStorage.snapshot();

/** The longest delay that Node's `setTimeout` keeps (2^31 - 1 ms); a longer one fires at once. */
const MAX_DELAY = 2_147_483_647;

/** The clock of this machine: `Date.now`, `process.hrtime` and `setTimeout`. Timers fire {@link inModuleContext}. */
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
      handle = inModuleContext(() => setTimeout(() => (left > step ? arm(left - step) : callback()), step));
      if (!options?.keepAlive) handle.unref();
    };
    // Rounded up: a timer that fires a fraction early would find nothing due and have to be armed again.
    arm(Math.max(0, Math.ceil(delay)));
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Calls `callback` in this turn of the event loop, after all timers that are due and all that has arrived, {@link inModuleContext}.
 * Fake timers of a test do not hold it back.
 */
export const atEndOfTurn = (callback: () => void): void => void inModuleContext(setImmediate, callback);

/** Resolves in a later turn of the event loop. Between two such turns the event loop has read all of its sockets. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => atEndOfTurn(resolve));

/** Calls `callback` when the code that runs now, and what that one has begun to await, has run, {@link inModuleContext}. */
export const afterThis = (callback: () => void): void =>
  void inModuleContext(() => Promise.resolve().then(callback));

/** One timer for much that is due at different moments: it is set for the earliest of them. */
export class AlarmClock {
  #timer: Timer | undefined;
  #at = Infinity;

  /** @param ring handles what is due, and sets the next alarm: a timer may fire a fraction early */
  constructor(
    private readonly clock: Clock,
    private readonly ring: () => void,
    private readonly options?: { keepAlive?: boolean },
  ) {}

  /** Rings at this moment, monotonic, or earlier if it is set for an earlier one. */
  by(at: number): void {
    if (at >= this.#at) return;
    this.#timer?.cancel();
    this.#at = at;
    this.#timer = this.clock.setTimer(() => this.#fire(), at - this.clock.monotonic(), this.options);
  }

  /** Rings at this moment, monotonic, whatever it was set for; `Infinity`: not at all. */
  set(at: number): void {
    if (this.#at === -Infinity) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Infinity;
    this.by(at);
  }

  /** Rings never again. */
  stop(): void {
    this.#timer?.cancel();
    this.#at = -Infinity;
  }

  #fire(): void {
    this.#at = Infinity;
    this.ring();
  }
}

/** Waits for `work`, but no longer than `limit` milliseconds: `undefined` then. The work itself is not ended. */
export async function noLongerThan<T>(
  limit: number,
  work: Promise<T>,
  clock: Clock,
  options?: { keepAlive?: boolean },
): Promise<T | undefined> {
  let timer: Timer | undefined;
  const passed = new Promise<undefined>((resolve) => {
    timer = clock.setTimer(() => resolve(undefined), limit, options);
  });
  try {
    return await Promise.race([work, passed]);
  } finally {
    timer?.cancel();
  }
}

/** Counts what is under way, and lets others wait for its end. */
export class UnderWay {
  #count = 0;
  #idle: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#wake?.();
    this.#idle = this.#wake = undefined;
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return (this.#idle ??= new Promise((resolve) => (this.#wake = resolve)));
  }
}
