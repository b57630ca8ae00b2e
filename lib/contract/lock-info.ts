import type { LeaseRef, ReleaseOutcome } from './lease-ref.js';
import type { Pause } from './pause.js';
import type { DeadLetter } from './queued-call-store.js';

/** A lock, as the store knows it. */
export interface LockInfo {
  readonly name: string;
  /** The store's time at this answer, epoch milliseconds. */
  readonly time: number;
  /** `held`: by a lease; `cooling-down`: its lease has ended, and it stays taken (`atLeast`); `free`. */
  readonly state: 'held' | 'cooling-down' | 'free';
  /** Instance id of the holder; of the last one if the lock is free. Absent if the store does not know it. */
  readonly holder?: string;
  /** When the newest lease began, by the store's clock, epoch milliseconds. */
  readonly since?: number;
  /** Milliseconds until the lock is free unless it is renewed. Absent if it is free, or never expires by itself. */
  readonly expiresIn?: number;
  /** Fencing token of the newest lease of this library. */
  readonly fencingToken?: number;
  /** Token of the lease that has the lock, if it is one of this library: whoever has it can end that lease, so do not show it. */
  readonly token?: string;
  /** The job of the newest lease, where the store knows it. */
  readonly job?: string;
  /** Whether the lock is free because its newest lease has ended by itself. Absent: no. */
  readonly interrupted?: true;
  /** The pause that is in force. Absent: none. */
  readonly paused?: Pause;
  /** The last start of each job under this lock that has ticks or an interval. */
  readonly jobs: readonly JobInfo[];
  /** The calls in line, in their order, a hundred at most; also those of dead processes until their turn or end. Absent: none. */
  readonly line?: readonly InLine[];
  /** How many queued calls wait for their run, or have begun it. Absent: none. */
  readonly queued?: number;
  /** Queued calls whose run failed, or was interrupted too often, newest first. Absent: none. */
  readonly dead?: readonly DeadLetter[];
  /** Why the store cannot read the queued calls: then `queued` and `dead` are absent. */
  readonly unknown?: string;
}

/** A call that waits in line for a lock. */
export interface InLine {
  /** Instance id of its process. Absent if the store does not know it. */
  readonly holder?: string;
  /** When it came, by the store's clock, epoch milliseconds. */
  readonly since: number;
  /** Greater ones come first. */
  readonly priority: number;
}

/** A lock as people see it. */
export const withoutToken = ({ token: _token, ...info }: LockInfo): LockInfo => info;

/** The last start of a job. */
export interface JobInfo extends Pick<LeaseRef, 'tick' | 'attempt'> {
  readonly job: string;
  /** How the run of the tick ended. Absent while it is going on, and if its holder died. */
  readonly outcome?: ReleaseOutcome;
  /** For `failed`: from when on the tick may be started once more, by the store's clock, epoch milliseconds. Absent: it may not. */
  readonly retryAt?: number;
  /** When an interval is due again, by the store's clock, epoch milliseconds. */
  readonly due?: number;
}
