import type { LeaseRef } from '../contract/lock-store.js';
import type { LockCall } from './lock-call.js';

/** A run of a job that goes on here. */
export interface OpenRun extends Pick<LeaseRef, 'tick' | 'attempt' | 'fencingToken'> {
  readonly lock: string;
  readonly job: string;
  readonly instance: string;
  /** How long ago its signal aborted (its `timeout` has passed, or its lease is lost), ms; below 0: it has not. */
  readonly overFor: number;
}

/** A call that has its lock, or asks for it. */
export interface OpenCall {
  readonly call: LockCall;
  /** Whether its job goes on under a live lease. */
  readonly isLive: boolean;
  /** The facts about its run, while its job runs. */
  readonly info: OpenRun | undefined;
  /** Another call for the lock was refused, or not even made, because of this one. */
  refused(call: LockCall): void;
}

/** The other calls of its process, as a call sees them. */
export interface Admission {
  /** A call that has waited has its lease, and its job begins. */
  granted(call: OpenCall): void;
  /** A call is over: right before its promise is settled. */
  over(call: OpenCall): void;
  /** Whether a run of the lock goes on here that has lost its lease, or never had one. */
  blocked(name: string): boolean;
  /** The locks that the caller holds. */
  holding(): string[];
}
