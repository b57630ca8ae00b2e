import type { LostReason } from '../../base/errors.js';
import type { Report } from '../history-store.js';
import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';

/** Fields of every event about one lock. */
export interface LockFacts {
  readonly lock: string;
  /** Identity of the job, if the lock was taken for one. */
  readonly job?: string;
  /** Instance id of this process. */
  readonly instance: string;
  /** Epoch milliseconds by this machine's clock. */
  readonly at: number;
}

/** Further fields of every event about a lease. */
export interface LeaseFacts extends LockFacts, Pick<LeaseRef, 'tick' | 'attempt'> {
  /** 0 if the job runs without its lock, by `onStoreError: 'run'`. */
  readonly fencingToken: number;
}

/** A lease was granted; its job begins. */
export interface AcquiredEvent extends LeaseFacts {
  readonly type: 'acquired';
  /** Milliseconds until the lease is lost unless it is renewed. Until then the job may rely on it. */
  readonly expiresIn: number;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
  /** The last start of the job came from another schedule: instances, or their time zones, differ. Told once for each job. */
  readonly mismatch?: {
    /** This instance's schedule. */
    readonly schedule: string;
    /** The schedule of the last start. */
    readonly previousSchedule: string;
    /** Given for a job of `cron()` with a `timeZone` or `utcOffset`: the application has changed its schedule. */
    readonly meant?: true;
  };
}

/** The heartbeat renewed a lease. */
export interface RenewedEvent extends LeaseFacts {
  readonly type: 'renewed';
  /** Whether the store had forgotten the lease, and the renewal wrote it back. */
  readonly restored: boolean;
  /**
   * Whether the lock alone was gone, though its lease was live: somebody has deleted it, such as a client that unlocks by a plain `DEL`.
   * The renewal wrote it back; another holder may have run meanwhile. If one has the lock, {@link LostEvent} is sent instead.
   */
  readonly deleted?: true;
  /** Milliseconds until the lease is lost unless it is renewed again. */
  readonly expiresIn: number;
}

/** A renewal failed; it is tried again until the lease is lost. */
export interface RenewalFailedEvent extends LeaseFacts {
  readonly type: 'renewal-failed';
  readonly error: Error;
  /** Milliseconds until the lease is lost. */
  readonly expiresIn: number;
}

/** A job ended, and its lease was released. */
export interface ReleasedEvent extends LeaseFacts {
  readonly type: 'released';
  readonly outcome: ReleaseOutcome;
  /** How long the job ran, milliseconds. */
  readonly duration: number;
  /** What the job threw, for the outcome `failed`. */
  readonly error?: unknown;
  /** For the outcome `failed`: the tick is tried again so many milliseconds later (`retry`). Absent: it is not. */
  readonly retryIn?: number;
  /** What the run has reported, if anything. */
  readonly report?: Report;
  /** For the outcome `hollow`: what was missing in its report, a part of a sentence. */
  readonly shortfall?: string;
  /** How many ticks of its job this instance skipped because of the run; absent if none: see {@link OverrunEvent}. */
  readonly skippedTicks?: number;
  /** Whether the store confirmed it. `false`: the lease was no longer ours, or the release is tried again until the lease has expired. */
  readonly confirmed: boolean;
  /** Whether the lock was gone before its time: somebody has deleted it, or the store has lost data. Another holder may have run meanwhile. */
  readonly deleted?: true;
}

/** A lease ended under a running job. */
export interface LostEvent extends LeaseFacts {
  readonly type: 'lost';
  readonly reason: LostReason;
  /** Instance that holds the lock now, if the store knows it. */
  readonly holder?: string;
}

/** A job has run for longer than its `timeout`. */
export interface TimeoutEvent extends LeaseFacts {
  readonly type: 'timeout';
  /** The `timeout` that passed, milliseconds. */
  readonly timeout: number;
}

/** A run still goes on when the next tick of its job comes on this instance, which skips that tick. Emitted once per run. */
export interface OverrunEvent extends LeaseFacts {
  readonly type: 'overrun';
  /** When the run began, epoch milliseconds. */
  readonly since: number;
  /** How many ticks were skipped so far because of the run; `released` has the sum. */
  readonly skippedTicks: number;
}

/** A job begins without its lock, because the store failed and `onStoreError` is `'run'`. */
export interface UnlockedEvent extends LeaseFacts {
  readonly type: 'unlocked';
  readonly error: Error;
}

/**
 * An alert: a run goes on here that should be over (its `timeout`, the next tick, the lease), and keeps this instance from other runs of
 * the job. Sent again each hour.
 */
export interface HungEvent extends LeaseFacts {
  readonly type: 'hung';
  readonly job: string;
  /** When the run began, by the store's clock, epoch milliseconds. */
  readonly since: number;
}
