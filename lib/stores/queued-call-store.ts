import type { RunRecord } from './history-store.js';
import type { LeaseRef, ReleaseOutcome } from './lease-ref.js';

/**
 * Where events are kept until their run has ended: a queue for each lock. The rule that it keeps is number 15 of `LockStore`.
 * It rejects as the other calls of a store do.
 */
export interface EventStore {
  /**
   * Called once at the start if there are jobs whose calls are kept.
   *
   * @throws SchedulerLockConfigError to stop the start: a missing right, a missing table
   * @throws StoreUnavailableError if the store cannot be reached now
   */
  init?(): Promise<void>;
  /** Keeps an event, or gives its arguments to one that waits with the same job and key. Idempotent per `id`. */
  enqueue(event: NewEvent, options?: CallOptions): Promise<Enqueued>;
  /**
   * Ends the event of a lease, and takes the next one for it, in one operation.
   *
   * @param lease with the `event` that it has taken, if it has one
   */
  next(lease: LeaseRef, options: NextOptions): Promise<NextResult>;
  /** Locks with events of these jobs that nobody may be about to work off: the lock is free, or nobody stands in line for it. */
  left(jobs: readonly string[]): Promise<LeftEvents[]>;
  /**
   * Puts the dead letters of a lock back to their places, with no deliveries counted, and keeps them for their time once more. Later
   * events with their key do not become one with them. Returns how many.
   */
  redeliver(name: string): Promise<number>;
}

/** Options of a call whose caller does not wait for ever. */
export interface CallOptions {
  /** Milliseconds after which the caller counts the call as failed. What has not been sent by then must not be. */
  readonly limit?: number | undefined;
}

/** An event to keep. Plain data. */
export interface NewEvent {
  /** Name of the lock. */
  readonly name: string;
  /** UUID v4, drawn for this call only. */
  readonly id: string;
  readonly job: string;
  /** Events of one job with the same key become one. Absent: it stands alone. */
  readonly key?: string;
  /** JSON, 16 kB at most. */
  readonly args: string;
  /** A whole number from -100 to 100: greater goes first. */
  readonly priority: number;
  /** How many events the lock may have. */
  readonly max: number;
  /** How often it is delivered again after a run that was interrupted. */
  readonly redeliver: number;
}

/** What became of an event. */
export type Enqueued =
  /** `place` orders it among the calls in line: see `WaitRequest.place`. `merged`: how many calls it stands for besides the first. */
  | { readonly queued: true; readonly place: number; readonly merged: number }
  /** The lock has as many events as it may have. */
  | { readonly queued: false };

/** Options of {@link EventStore.next}. */
export interface NextOptions extends CallOptions {
  /** How the run of the lease's event ended. `completed`: it leaves. `failed`, `timed-out`: it becomes a dead letter. */
  readonly outcome?: ReleaseOutcome;
  /** How that run went, to be remembered. */
  readonly record?: RunRecord;
  /** The jobs whose events the caller can run, and how long the lease lives for each, ms. */
  readonly takes: readonly { readonly job: string; readonly ttl: number }[];
}

/** The answer to {@link EventStore.next}. */
export type NextResult = {
  /** Events that were over their limit, and are dead letters now. */
  readonly dead: readonly DeadLetter[];
} & (
  | { readonly held: true; readonly event: DeliveredEvent; readonly fencingToken: number }
  /** Nothing to take. With a `place`: a call in line stands before the first event, whose place it is. */
  | { readonly held: true; readonly event?: undefined; readonly place?: number }
  /** The lease is over. */
  | { readonly held: false; readonly event?: undefined }
);

/** An event that a lease has taken. */
export interface DeliveredEvent {
  readonly id: string;
  readonly job: string;
  readonly key?: string;
  readonly args: string;
  /** The how manieth delivery this is, from 1. */
  readonly delivery: number;
  /** When it came, by the store's clock, epoch milliseconds. */
  readonly queuedAt: number;
  /** How many later calls it stands for. */
  readonly merged: number;
}

/** An event whose run failed, or was interrupted too often. Kept for 7 days, 100 of each lock. */
export interface DeadLetter {
  readonly id: string;
  readonly job: string;
  readonly key?: string;
  /** How often it was delivered. */
  readonly deliveries: number;
  readonly reason: 'failed' | 'timed-out' | 'interrupted';
  /** When it became one, by the store's clock, epoch milliseconds. */
  readonly at: number;
}

/** A lock with events that were left. */
export interface LeftEvents {
  readonly name: string;
  /** That of the first event. */
  readonly place: number;
}

/** How long events and dead letters are kept, ms. */
export const EVENTS_KEPT = 7 * 86_400_000;
/** How many dead letters of a lock are kept. */
export const DEAD_KEPT = 100;
