import type { LostReason, RevokedReason, SkipReason } from '../errors.js';
import type { ControlAct, MissReason } from '../stores/history-store.js';
import type { RefusalFacts, ReleaseOutcome } from '../stores/lock-store.js';

/** Fields of every event about one lock. */
interface LockFacts {
  readonly lock: string;
  /** Identity of the job, if the lock was taken for one. */
  readonly job?: string;
  /** Instance id of this process. */
  readonly instance: string;
  /** Epoch milliseconds by this machine's clock. */
  readonly at: number;
}

/** Further fields of every event about a lease. */
export interface LeaseFacts extends LockFacts {
  /** 0 if the job runs without its lock, by `onStoreError: 'run'`. */
  readonly fencingToken: number;
  /** Scheduled fire time that the run belongs to, epoch milliseconds. */
  readonly tick?: number;
  /** Which run of the tick this is, from 1. */
  readonly attempt?: number;
}

/** A lease was granted; its job begins. */
export interface AcquiredEvent extends LeaseFacts {
  readonly type: 'acquired';
  /** Milliseconds until the lease is lost unless it is renewed. Until then the job may rely on it. */
  readonly expiresIn: number;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
}

/** A call found its lock taken, and stands in line from now on. */
export interface WaitingEvent extends LockFacts {
  readonly type: 'waiting';
  /** How many calls of the fleet stand before it. */
  readonly ahead: number;
  /** How long it waits at most, milliseconds. */
  readonly wait: number;
  readonly priority: number;
  /** Instance id of the holder, if it is one of ours. */
  readonly holder?: string;
  /** Scheduled fire time that the call belongs to, epoch milliseconds. */
  readonly callTick?: number;
  /** The locks that the calling code holds meanwhile: two calls that wait for each other's locks end only with their `wait`. */
  readonly holding?: readonly string[];
  /**
   * Why this process is not told when one of its calls is called, and what to do: until then they ask four times a second. In one event
   * of a process only.
   */
  readonly problem?: string;
}

/** A call did not run its job. */
export interface SkippedEvent extends LockFacts, RefusalFacts {
  readonly type: 'skipped';
  readonly reason: SkipReason;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
  /** The locks that the calling code held while it stood in line. */
  readonly holding?: readonly string[];
  /** Scheduled fire time that the call belongs to, epoch milliseconds. */
  readonly callTick?: number;
  /** What went wrong, for `store-unavailable` and `invalid-name`. */
  readonly error?: Error;
}

/** A call found its lock taken, and was queued until the lock is free (`onHeld: 'queue'`). */
export interface QueuedEvent extends LockFacts {
  readonly type: 'queued';
  readonly job: string;
  /** Absent if it has none. */
  readonly key?: string;
  /** How many calls besides the first one it stands for: the run for all of them has not begun. */
  readonly merged: number;
}

/**
 * A queued call will not be run any more: its run failed or passed its `timeout`, or was interrupted too often. `inspect()` shows
 * it, and `redeliver(lock)` puts it back.
 */
export interface DeadLetteredEvent extends LockFacts {
  readonly type: 'dead-lettered';
  readonly job: string;
  readonly key?: string;
  readonly reason: 'failed' | 'timed-out' | 'interrupted';
  /** How often it was delivered. */
  readonly deliveries: number;
  /** What its run threw, for the reason `failed`. */
  readonly error?: unknown;
}

/** The last start of a job came from another schedule: instances, or their time zones, differ. */
export interface ScheduleMismatchEvent extends LeaseFacts {
  readonly type: 'schedule-mismatch';
  /** This instance's schedule. */
  readonly schedule: string;
  /** The schedule of the last start. */
  readonly previousSchedule: string;
  /** Given for a job of `cron()` with a `timeZone` or `utcOffset`: the application has changed its schedule. */
  readonly meant?: true;
}

/** The heartbeat renewed a lease. */
export interface RenewedEvent extends LeaseFacts {
  readonly type: 'renewed';
  /** Whether the store had forgotten the lease, and the renewal wrote it back. */
  readonly restored: boolean;
  /** Whether the lock alone was gone: {@link LockDeletedEvent} tells of it. */
  readonly deleted?: true;
  /** Milliseconds until the lease is lost unless it is renewed again. */
  readonly expiresIn: number;
}

/**
 * A lock was gone, or another holder's, though its lease was live: somebody has deleted it, such as a client that unlocks by a plain
 * `DEL`. Another holder may have run meanwhile. Of a lock that another holder has when it is renewed {@link LostEvent} tells.
 */
export interface LockDeletedEvent extends LeaseFacts {
  readonly type: 'lock-deleted';
  /** What has found it: a renewal, which wrote the lock back, or the release. The release cannot tell it from a store that lost data. */
  readonly noticedBy: 'renewal' | 'release';
}

/**
 * The lease before the one that was granted now had ended by itself: its process was killed or froze, or could not reach the store. Sent
 * by the instance that got the lock next, if runs are remembered (`history`). While nobody takes the lock, nobody knows of it.
 */
export interface InterruptedEvent extends LockFacts {
  readonly type: 'interrupted';
  /** The run, as far as the store knows it. `instance`: who had it. */
  readonly run: {
    readonly instance: string;
    readonly fencingToken: number;
    readonly tick?: number;
    /** Which run of the tick it was, from 1. */
    readonly attempt?: number;
  };
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
  /** How many ticks of its job this instance skipped because of the run; absent if none: see {@link OverrunEvent}. */
  readonly missed?: number;
  /**
   * Whether the store confirmed it. `false` if the lease was no longer ours, or if the store did not answer: then
   * the release is tried again until the lease has expired by itself.
   */
  readonly confirmed: boolean;
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

/**
 * A run is still going on when the next tick of its job comes on this instance, so that tick is skipped. Emitted once per run: it
 * shows a hung job that has no `timeout`.
 */
export interface OverrunEvent extends LeaseFacts {
  readonly type: 'overrun';
  /** When the run began, epoch milliseconds. */
  readonly since: number;
  /** How many ticks were skipped so far because of the run; `released` has the sum. */
  readonly missed: number;
}

/** A job begins without its lock, because the store failed and `onStoreError` is `'run'`. */
export interface UnlockedEvent extends LeaseFacts {
  readonly type: 'unlocked';
  readonly error: Error;
}

/**
 * The store began to fail: as a whole, on one of its servers, for one kind of call, or for one lock whose entry is broken. Emitted
 * once, however many calls fail until the outage ends.
 */
export interface OutageStartedEvent {
  readonly type: 'outage-started';
  /** The one lock that fails; absent if the store itself does. */
  readonly lock?: string;
  readonly instance: string;
  readonly at: number;
  readonly error: Error;
  /** The store could not be reached when the application started. */
  readonly atStart: boolean;
}

/**
 * The store answers again. Any answered call ends an outage, with two exceptions. If the store had refused calls
 * (`StoreUnavailableError.refused`), only a call of the same kind ends it. If its locks live on several servers
 * (`LockStore.partitioned`), only a call for a lock that had failed does. When no call has failed for ten minutes, any answered
 * call ends these too.
 */
export interface OutageEndedEvent {
  readonly type: 'outage-ended';
  readonly lock?: string;
  readonly instance: string;
  readonly at: number;
  /** How long it lasted, milliseconds. */
  readonly duration: number;
  /** How many calls were skipped meanwhile. */
  readonly skipped: number;
}

/**
 * No instance has started a tick in time (`overdue`), and no run of its job was going on: an alert. One event for each tick over the whole
 * fleet, on the instance that found out first.
 */
export interface OverdueEvent extends LockFacts {
  readonly type: 'overdue';
  readonly job: string;
  /** The fire time that was missed; of an interval, when it was due. Epoch milliseconds. */
  readonly tick: number;
  /** What kept each instance from it, as far as they have told by now. */
  readonly reasons: readonly (MissReason & { readonly missedBy: string })[];
}

/**
 * A run goes on here that should be over: past its `timeout`, past the next tick of its job, or though its lease is over. An alert: while
 * it goes on, this instance starts no other run of the job. Again each hour.
 */
export interface HungEvent extends LeaseFacts {
  readonly type: 'hung';
  readonly job: string;
  /** When it began, by the store's clock, epoch milliseconds. */
  readonly since: number;
}

/** A run that a shutdown has to deal with. */
export interface UnfinishedRun {
  readonly lock: string;
  /** Identity of the job, if the lock was taken for one. */
  readonly job?: string;
}

/** A shutdown begins while jobs run, and waits for them. */
export interface ShutdownWaitingEvent {
  readonly type: 'shutdown-waiting';
  /** It is about many. */
  readonly lock?: undefined;
  readonly runs: readonly UnfinishedRun[];
  readonly instance: string;
  readonly at: number;
  /** How long the shutdown waits at most before it aborts their signals, milliseconds: the option `shutdownTimeout`. */
  readonly timeout: number;
}

/**
 * A shutdown waits no longer for jobs that still run. Their leases are left to expire, so that no other instance runs beside them.
 */
export interface ShutdownLeftEvent {
  readonly type: 'shutdown-left';
  /** It is about many. */
  readonly lock?: undefined;
  readonly runs: readonly (UnfinishedRun & {
    /** Milliseconds until the lease expires, and another instance can take the lock; absent if it was lost before. */
    readonly expiresIn?: number;
  })[];
  readonly instance: string;
  readonly at: number;
}

/** This instance leads: it won the election that `lock` names. */
export interface ElectedEvent extends LeaseFacts {
  readonly type: 'elected';
}

/** This instance leads no longer. The signal of its lease has aborted; its hook is called next. */
export interface RevokedEvent extends LeaseFacts {
  readonly type: 'revoked';
  readonly reason: RevokedReason;
  /** How long it led, milliseconds. */
  readonly duration: number;
}

/** A hook of a class with `@LeaderElection()` failed. After `onElected` the instance resigns. */
export interface HookFailedEvent extends LeaseFacts {
  readonly type: 'hook-failed';
  readonly hook: 'onElected' | 'onRevoked';
  readonly error: unknown;
}

/** A person has used a switch here, or a run that a person has asked for begins here: see `docs/control.md`. */
export interface ControlledEvent extends LockFacts, ControlAct {
  readonly type: 'controlled';
  /** Of the lease that began or ended. Absent if there was none. */
  readonly fencingToken?: number;
  /** For `pause`: until when, by the store's clock, epoch milliseconds. */
  readonly until?: number;
}

/** Every event, told apart by `type`. */
export type SchedulerLockEvent =
  | AcquiredEvent
  | WaitingEvent
  | SkippedEvent
  | QueuedEvent
  | DeadLetteredEvent
  | ScheduleMismatchEvent
  | InterruptedEvent
  | LockDeletedEvent
  | RenewedEvent
  | RenewalFailedEvent
  | ReleasedEvent
  | LostEvent
  | TimeoutEvent
  | OverrunEvent
  | UnlockedEvent
  | OverdueEvent
  | HungEvent
  | ElectedEvent
  | RevokedEvent
  | HookFailedEvent
  | ControlledEvent
  | ShutdownWaitingEvent
  | ShutdownLeftEvent
  | OutageStartedEvent
  | OutageEndedEvent;

/** Sends an event to all listeners. Never throws. */
export type Emit = (event: SchedulerLockEvent) => void;

/** What listeners may want: events of a type, or, in `skipped`, the facts about the lease that is in the way. */
export type Wanted = SchedulerLockEvent['type'] | 'refusal';

/** Whether a listener wants this: what nobody wants would add to the cost of each run. */
export type Hears = (wanted: Wanted) => boolean;
