import type { SkipReason } from '../errors.js';
import type { JobStart } from '../job-start.js';

/** How one lock is taken and kept: checked, whole milliseconds. */
export interface LockSettings {
  readonly ttl: number;
  readonly heartbeat: number | false;
  readonly timeout: number | undefined;
  readonly atLeast: number;
  readonly storeTimeout: number;
  readonly enabled: boolean;
  readonly onStoreError: 'skip' | 'throw' | 'run';
}

/** One call through a lock. */
export interface LockCall {
  readonly name: string;
  readonly job: string | undefined;
  readonly settings: LockSettings;
  /** Fired by the scheduler: then it is never part of another call, whatever async context it comes in. */
  readonly scheduled: boolean;
  /** The start that the call belongs to: the store runs each once. */
  readonly start?: JobStart | undefined;
  /** An attempt to lead: to be refused is what happens all day, and no job was skipped. */
  readonly campaign?: boolean;
}

/** A call that did not run its job. */
export interface Skipped {
  readonly ran: false;
  readonly reason: SkipReason;
  /** Instance that has the lease, if the store knows it. */
  readonly holder?: string;
  /** Milliseconds until the holder's lease expires unless it is renewed. */
  readonly expiresIn?: number;
  /** The newest tick that was started, for `already-ran`; the refused one, for `clock-skew`. Epoch milliseconds. */
  readonly tick?: number;
  /** Whether that tick's run has ended, other than by an interruption. */
  readonly finished?: boolean;
  /** The store's time, epoch milliseconds, for `clock-skew`. */
  readonly storeTime?: number;
  /** What went wrong, for `store-unavailable` and `invalid-name`. */
  readonly error?: Error;
}

/** What became of a call. */
export type RunResult<T> = { readonly ran: true; readonly value: T } | Skipped;
