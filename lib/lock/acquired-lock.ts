import { LeasedLock, type Lock } from './current-lock.js';
import type { Lease } from './lease.js';

/** A lock that was taken without a job around it. Ends with `release()`, or with the scope of `await using`. */
export interface AcquiredLock extends Lock, AsyncDisposable {
  /**
   * Releases the lease. Does not reject if the store does not answer: the release is tried again, and the lease
   * expires by itself. Calling it again does nothing.
   */
  release(): Promise<void>;
}

/** Stands in for the job of an {@link AcquiredLock}: it lasts until it is released. */
export class LockHandle extends LeasedLock implements AcquiredLock {
  /** Resolves when the user calls `release()`. */
  readonly released: Promise<void>;
  /** Resolves when the run is over: the store has answered the release, or did not in time. */
  finished: Promise<unknown> | undefined;
  #let!: () => void;

  constructor(lease: Lease) {
    super(lease);
    this.released = new Promise((resolve) => (this.#let = resolve));
  }

  /** Whether the lock is still held, judged by the clock at this moment. */
  get live(): boolean {
    return this.lease.live;
  }

  async release(): Promise<void> {
    this.#let();
    await this.finished;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
