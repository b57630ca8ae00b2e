/** Identifies a lease, with all data needed to restore it. Plain data. */
export interface LeaseRef {
  /** Name of the lock. */
  readonly name: string;
  /** UUID v4, drawn for this attempt only. Proves ownership, together with the fencing token. */
  readonly token: string;
  /** The grant's fencing token; 0 if the answer to the acquire never arrived. */
  readonly fencingToken: number;
  /** How long the lease lives in the store without a renewal, whole milliseconds. */
  readonly ttl: number;
  /** Instance id of the holder. */
  readonly holder: string;
  /** Identity of the job, if the lease is for one. */
  readonly job?: string;
  /** Scheduled fire time that the run belongs to, epoch milliseconds. */
  readonly tick?: number;
  /** Which run of the tick this is, from 1. */
  readonly attempt?: number;
  /** How the call waits, if it may stand in line. */
  readonly wait?: WaitRequest;
  /** The id of the queued call that the lease has taken. */
  readonly queuedCall?: string;
}

/** How a call waits for its turn. */
export interface WaitRequest {
  /** For how many more milliseconds: after that, its place in line is void. */
  readonly limit: number;
  /** A whole number from -100 to 100: greater goes first. */
  readonly priority: number;
  /** Names the process, for hints. */
  readonly process: string;
  /** The place that the store has answered to this call, or the place of the call that this one replaces. */
  readonly place?: number;
  /** How long the lease that the call last heard of can be live, ms: a store that lost its data grants nobody in line before. */
  readonly notBefore?: number;
  /** Whether the call runs queued calls when its turn comes. One that does not goes before queued calls behind it. @default false */
  readonly drains?: boolean;
}

/** How a run ended. `hollow`: it completed, and did not report what was expected of it. `abandoned`: nothing ran. */
export type ReleaseOutcome = 'completed' | 'hollow' | 'failed' | 'timed-out' | 'aborted' | 'abandoned';
