import type { SkipReason } from '../../base/errors.js';
import type { ControlAct, MissReason } from '../history-store.js';
import type { LeaseRef, RefusalFacts } from '../lock-store.js';
import type { DeadLetter } from '../queued-call-store.js';
import type { LockFacts } from './lease-events.js';

/** What is known of a call that stands in line, or did. */
interface CallFacts extends LockFacts {
  /** Scheduled fire time that the call belongs to, epoch milliseconds. */
  readonly callTick?: number;
  /** The locks that the calling code holds meanwhile: two calls that wait for each other's locks end only with their `wait`. */
  readonly holding?: readonly string[];
}

/** A call found its lock taken, and stands in line from now on. */
export interface WaitingEvent extends CallFacts, Pick<RefusalFacts, 'holder'> {
  readonly type: 'waiting';
  /** How many calls of the fleet stand before it. */
  readonly ahead: number;
  /** How long it waits at most, milliseconds. */
  readonly wait: number;
  readonly priority: number;
  /**
   * Why no hint reaches this process when the turn of one of its calls comes, and what to do: its calls ask four times a second. Only one
   * event of a process has it: a second one of a call, or one of a queued call that waits for its turn.
   */
  readonly problem?: string;
}

/** A call did not run its job. */
export interface SkippedEvent extends CallFacts, RefusalFacts {
  readonly type: 'skipped';
  readonly reason: SkipReason;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
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
export interface DeadLetteredEvent extends LockFacts, Pick<DeadLetter, 'key' | 'reason' | 'deliveries'> {
  readonly type: 'dead-lettered';
  readonly job: string;
  /** What its run threw, for the reason `failed`. */
  readonly error?: unknown;
}

/**
 * The lease before the one that was granted now had ended by itself: its process was killed or froze, or could not reach the store. The
 * instance that gets the lock next sends this event, if runs are remembered (`history`): until then no instance knows.
 */
export interface InterruptedEvent extends LockFacts {
  readonly type: 'interrupted';
  /** The run, as far as the store knows it. `instance`: the one that had it. */
  readonly run: Pick<LeaseRef, 'fencingToken' | 'tick' | 'attempt'> & { readonly instance: string };
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
  /** What kept each instance from the tick, as far as the instances have reported by now. */
  readonly reasons: readonly (MissReason & { readonly missedBy: string })[];
}

/**
 * A person has used a switch of this application, or a run that a person has asked for begins here: see `docs/production/control.md`. No
 * application emits the event for a switch that was used elsewhere, such as in the shell: `SchedulerLockInsight.controls()` has those, too.
 */
export interface ControlledEvent extends LockFacts, ControlAct {
  readonly type: 'controlled';
  /** Of the lease that began or ended. Absent if there was none. */
  readonly fencingToken?: number;
  /** For `pause`: until when, by the store's clock, epoch milliseconds. */
  readonly until?: number;
}
