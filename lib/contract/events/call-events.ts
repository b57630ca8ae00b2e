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
  /** Why no hints reach this process, so that its calls ask four times a second, and what to do. Only one event of a process has it. */
  readonly problem?: string;
}

/** A call did not run its job, or not yet: one with the reason `queued` is kept until its lock is free (`onHeld: 'queue'`). */
export interface SkippedEvent extends CallFacts, RefusalFacts {
  readonly type: 'skipped';
  readonly reason: SkipReason;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
  /** What went wrong, for `store-unavailable` and `invalid-name`. */
  readonly error?: Error;
  /** Of a queued call. Absent if it has none. */
  readonly key?: string;
  /** How many calls besides the first one a queued call stands for: the run for all of them has not begun. */
  readonly merged?: number;
}

/** A queued call will not be run any more. `inspect()` shows it, and `redeliver(lock)` puts it back. */
export interface DeadLetteredEvent extends LockFacts, Pick<DeadLetter, 'key' | 'reason' | 'deliveries'> {
  readonly type: 'dead-lettered';
  readonly job: string;
  /** What its run threw, for the reason `failed`. */
  readonly error?: unknown;
}

/** A lease had ended by itself. The instance that gets the lock next finds that out, if runs are remembered (`history`). */
export interface InterruptedEvent extends LockFacts {
  readonly type: 'interrupted';
  /** The run, as far as the store knows it. `instance`: the one that had it. */
  readonly run: Pick<LeaseRef, 'fencingToken' | 'tick' | 'attempt'> & { readonly instance: string };
}

/** An alert: no instance has started a tick in time (`overdue`), and no run of its job went on. One event for each tick over the fleet. */
export interface OverdueEvent extends LockFacts {
  readonly type: 'overdue';
  readonly job: string;
  /** The fire time that was missed; of an interval, when it was due. Epoch milliseconds. */
  readonly tick: number;
  /** What kept each instance from the tick, as far as the instances have reported by now. */
  readonly reasons: readonly (MissReason & { readonly missedBy: string })[];
}

/**
 * A person has used a switch of this application, or a run that a person has asked for begins here: see `docs/production/control.md`.
 * Switches that were used elsewhere, such as in the shell, are only in `SchedulerLockInsight.controls()`.
 */
export interface ControlledEvent extends LockFacts, ControlAct {
  readonly type: 'controlled';
  /** Of the lease that began or ended. Absent if there was none. */
  readonly fencingToken?: number;
}
