import type { RevokedReason } from '../../base/errors.js';
import type { LeaseFacts, LockFacts } from './lease-events.js';

/** Fields of every event. */
type InstanceFacts = Pick<LockFacts, 'instance' | 'at'>;

/** The store began to fail: as a whole, on one server, for one kind of call, or for one broken lock. Emitted once until the outage ends. */
export interface OutageStartedEvent extends InstanceFacts {
  readonly type: 'outage';
  readonly phase: 'started';
  /** The one lock that fails; absent if the store itself does. */
  readonly lock?: string;
  readonly error: Error;
  /** The store could not be reached when the application started. */
  readonly atStart: boolean;
}

/**
 * The store answers again. If it had refused calls (`StoreUnavailableError.refused`), only a call of the same kind ends the outage; if its
 * locks live on several servers (`LockStore.partitioned`), only a call for a lock that had failed; and after ten minutes without a failure
 * any answered call.
 */
export interface OutageEndedEvent extends InstanceFacts {
  readonly type: 'outage';
  readonly phase: 'ended';
  readonly lock?: string;
  /** How long it lasted, milliseconds. */
  readonly duration: number;
  /** How many calls were skipped meanwhile. */
  readonly skipped: number;
}

/** A run that a shutdown has to deal with. */
export type UnfinishedRun = Pick<LockFacts, 'lock' | 'job'>;

/** A shutdown begins while jobs run, and waits for them. */
export interface ShutdownWaitingEvent extends InstanceFacts {
  readonly type: 'shutdown';
  readonly phase: 'waiting';
  readonly lock?: undefined;
  readonly runs: readonly UnfinishedRun[];
  /** How long the shutdown waits at most before it aborts their signals, milliseconds: the option `shutdownTimeout`. */
  readonly timeout: number;
}

/** A shutdown waits no longer for jobs that still run. Their leases are left to expire, so that no other instance runs beside them. */
export interface ShutdownLeftEvent extends InstanceFacts {
  readonly type: 'shutdown';
  readonly phase: 'left';
  readonly lock?: undefined;
  readonly runs: readonly (UnfinishedRun & {
    /** Milliseconds until the lease expires, and another instance can take the lock; absent if it was lost before. */
    readonly expiresIn?: number;
  })[];
}

/** This instance leads: it won the election that `lock` names. */
export interface ElectedEvent extends LeaseFacts {
  readonly type: 'leader';
  readonly phase: 'elected';
}

/** This instance leads no longer. The signal of its lease has aborted; its hook is called next. */
export interface RevokedEvent extends LeaseFacts {
  readonly type: 'leader';
  readonly phase: 'revoked';
  readonly reason: RevokedReason;
  /** How long it led, milliseconds. */
  readonly duration: number;
}

/** A hook of a class with `@LeaderElection()` failed. After `onElected` the instance resigns. */
export interface HookFailedEvent extends LeaseFacts {
  readonly type: 'leader';
  readonly phase: 'hook-failed';
  readonly hook: 'onElected' | 'onRevoked';
  readonly error: unknown;
}
