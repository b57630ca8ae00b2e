import type { Clock, Timer } from '../../base/clock.js';

interface Chance {
  readonly tick: number;
  readonly timer: Timer;
}

/** The first wait when its length is unknown, as for a store that is away, ms. It doubles each time, up to the longest. */
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;
/** Watchers of one lease ask at moments that differ by up to this, ms. */
const SPREAD = 50;

/**
 * Refused ticks that may have to run after all: the lock may become free, the store may come back. One per job; a newer tick
 * supersedes it.
 */
export class RetryTimers {
  readonly #timers = new Map<unknown, Chance>();
  #closed = false;

  constructor(private readonly clock: Clock) {}

  /** Forgets an older tick of the job. */
  supersede(job: unknown, tick: number): void {
    const chance = this.#timers.get(job);
    if (chance === undefined || chance.tick >= tick) return;
    chance.timer.cancel();
    this.#timers.delete(job);
  }

  /** Calls `fire` when the holder's lease can have ended, unless a newer tick comes before. */
  afterLease(job: unknown, tick: number, expiresIn: number, fire: () => void): void {
    this.#after(job, tick, expiresIn + Math.random() * SPREAD, fire);
  }

  /**
   * Calls `fire` when the store may be back, or this process may be done with the lock.
   *
   * @param failures how many tries in a row have failed so far
   */
  afterOutage(job: unknown, tick: number, failures: number, fire: () => void): void {
    this.#after(job, tick, Math.min(FIRST_WAIT * 2 ** failures, LONGEST_WAIT), fire);
  }

  /** Calls `fire` when the scheduler may have made its jobs. */
  afterJobs(job: unknown, delay: number, fire: () => void): void {
    this.#after(job, -Infinity, delay, fire);
  }

  stop(): void {
    this.#closed = true;
    for (const { timer } of this.#timers.values()) timer.cancel();
  }

  #after(job: unknown, tick: number, delay: number, fire: () => void): void {
    const known = this.#timers.get(job);
    if (this.#closed || (known !== undefined && known.tick >= tick)) return;
    known?.timer.cancel();
    const timer = this.clock.setTimer(() => {
      this.#timers.delete(job);
      fire();
    }, delay);
    this.#timers.set(job, { tick, timer });
  }
}
