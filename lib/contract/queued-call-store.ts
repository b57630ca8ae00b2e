import type { RunRecord } from './history-store.js';
import type { LeaseRef, ReleaseOutcome } from './lease-ref.js';

/** Where queued calls are kept until their run has ended, by rule 15 of `LockStore`. Its methods reject as the other calls of a store do. */
export interface QueuedCallStore {
  /** Called once at the start if there are jobs whose calls are queued. Rejects as `init` of the store does. */
  init?(): Promise<void>;
  /** Keeps a queued call, or gives its arguments to one that waits with the same job and key, by `mergedArguments`. Idempotent per `id`. */
  enqueue(queuedCall: NewQueuedCall, options?: CallOptions): Promise<Enqueued>;
  /** Ends the `queuedCall` of a lease, if it has one, and takes the next one. Between the two, nobody else gets the lock. */
  next(lease: LeaseRef, options: NextOptions): Promise<NextResult>;
  /** Locks with queued calls of these jobs that perhaps no process is about to run: free, or without a call of that priority in line. */
  left(jobs: readonly string[]): Promise<LeftCalls[]>;
  /**
   * Puts the dead letters of a lock, or only this one, back to their places, with no deliveries counted, and keeps them for as long once
   * more. Later queued calls with the same key do not merge with them. Returns how many.
   */
  redeliver(name: string, id?: string): Promise<number>;
  /** Sends the hint {@link LOOK_FOR_QUEUED} to every process with a channel for hints. It may be lost. Never rejects. */
  announce(): Promise<void>;
}

/** The hint that somebody else has queued calls. No call in line has such a token. */
export const LOOK_FOR_QUEUED = 'queued';

/** Options of a call whose caller does not wait for ever. */
export interface CallOptions {
  /** Milliseconds after which the caller counts the call as failed. A call that has not been sent by then must not be sent. */
  readonly limit?: number | undefined;
}

/** A queued call to keep. Plain data. */
export interface NewQueuedCall {
  /** Name of the lock. */
  readonly name: string;
  /** UUID v4, drawn for this call only. */
  readonly id: string;
  readonly job: string;
  /** Queued calls of one job with the same key become one. Absent: the call stands alone. */
  readonly key?: string;
  /** JSON, 16 kB at most. */
  readonly args: string;
  /** A whole number from -100 to 100: greater goes first. */
  readonly priority: number;
  /** How many queued calls the lock may have. */
  readonly max: number;
  /** How often it is delivered again after a run that was interrupted. */
  readonly redeliver: number;
}

/** What became of a queued call. */
export type Enqueued =
  /** `place` orders it among the calls in line: see `WaitRequest.place`. `merged`: how many calls it stands for besides the first. */
  | {
      readonly queued: true;
      readonly place: number;
      readonly merged: number;
      /** Of the queued call that it has become one with. Absent: it is kept itself, or the store does not tell. */
      readonly id?: string;
    }
  /** The lock has as many queued calls as it may have. */
  | { readonly queued: false };

/** Options of {@link QueuedCallStore.next}. */
export interface NextOptions extends CallOptions {
  /** How the run of the lease's queued call ended. `completed`: it leaves. `failed`, `timed-out`: it becomes a dead letter. */
  readonly outcome?: ReleaseOutcome;
  /** How that run went, to be remembered. */
  readonly record?: RunRecord;
  /** The jobs whose queued calls the caller can run, and how long the lease lives for each, ms. */
  readonly takes: readonly { readonly job: string; readonly ttl: number }[];
}

/** The answer to {@link QueuedCallStore.next}. */
export type NextResult = {
  /** Queued calls that were over their limit, and are dead letters now. */
  readonly dead: readonly DeadLetter[];
} & (
  | { readonly held: true; readonly queuedCall: DeliveredCall; readonly fencingToken: number }
  /** Nothing to take. With a `place`: a call in line stands before the first queued call, whose place that is. */
  | { readonly held: true; readonly queuedCall?: undefined; readonly place?: number }
  /** The lease is over. */
  | { readonly held: false; readonly queuedCall?: undefined }
);

/** A queued call that a lease has taken. */
export interface DeliveredCall extends Pick<NewQueuedCall, 'id' | 'job' | 'key' | 'args'> {
  /** The number of this delivery, from 1. */
  readonly delivery: number;
  /** When it came, by the store's clock, epoch milliseconds. */
  readonly queuedAt: number;
  /** How many later calls it stands for. */
  readonly merged: number;
}

/** A queued call whose run failed, or was interrupted too often. Kept for 7 days, 100 of each lock. */
export interface DeadLetter extends Pick<NewQueuedCall, 'id' | 'job' | 'key'> {
  /** How often it was delivered. */
  readonly deliveries: number;
  readonly reason: 'failed' | 'timed-out' | 'interrupted';
  /** When it became a dead letter, by the store's clock, epoch milliseconds. */
  readonly at: number;
}

/** A lock with queued calls that perhaps no process is about to run. */
export interface LeftCalls {
  readonly name: string;
  /** The place of the first queued call. */
  readonly place: number;
}

/** How long queued calls and dead letters are kept, ms. */
export const QUEUED_CALLS_KEPT = 7 * 86_400_000;
/** How many dead letters of a lock are kept. */
export const DEAD_KEPT = 100;
