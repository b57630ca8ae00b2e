import type { Emit } from '../events/events.js';
import type { Kept } from '../stores/history-store.js';

/** A job that is watched. */
export interface WatchedJob {
  readonly job: string;
  /** Name of its lock. */
  readonly lock: string;
  /** Whether other jobs share its lock: then a lock that is taken says nothing of this one. */
  readonly sharesLock: boolean;
  /** Whether a tick that was skipped may still run. */
  readonly comesLate: boolean;
  /** How long after its tick it counts as overdue, ms. */
  readonly grace: number;
  /** Milliseconds between two runs of an interval; absent for a cron job. */
  readonly interval?: number | undefined;
  /** The newest date not after `at`, epoch milliseconds. */
  readonly newest: (at: number) => number | undefined;
  /** The first date after `at`, or Infinity. */
  readonly next: (at: number) => number;
  /** Whether the scheduler may fire it now. */
  readonly isOn: () => boolean;
  /** How long after its start the scheduler begins to fire it, ms. */
  readonly initialDelay: number;
}

/** Why a call did not start a tick. */
export interface Refused {
  readonly reason: string;
  readonly holder?: string;
  /** The newest tick of the job that was started. */
  readonly tick?: number;
  /** Milliseconds until an interval may start again. */
  readonly expiresIn?: number;
}

/** Who watches. */
export interface Watcher {
  readonly instance: string;
  readonly kept: Kept;
  readonly emit: Emit;
  /** Why nothing is fired here, if that is so. */
  readonly idleReason: () => string | undefined;
  /** How much the store's clock is ahead of that of this machine, ms; `undefined`: not known yet. */
  readonly clockOffset: () => number | undefined;
}
