import type { SkipReason } from '../base/errors.js';
import type { JobStart } from '../base/job-start.js';
import type { Annotation } from '../contract/history-store.js';
import type { RefusalFacts } from '../contract/lock-store.js';

/** How one lock is taken and kept: checked, whole milliseconds. */
export interface LockSettings {
  readonly ttl: number;
  readonly heartbeat: number | false;
  readonly timeout: number | undefined;
  readonly atLeast: number;
  readonly storeTimeout: number;
  /** How long a call stands in line if the lock is taken; 0 or absent: not at all. */
  readonly wait?: number;
  /** Among calls in line, greater goes first. */
  readonly priority?: number;
  readonly enabled: boolean;
  /** Whether the store remembers its runs. */
  readonly history?: boolean;
  readonly onStoreError: 'skip' | 'run';
  /** Whether a shutdown aborts the job's signal at once. */
}

/** A queued call, as its job sees it. */
export interface QueuedCallFacts {
  /** Its key; `undefined` if it has none. */
  readonly key: string | undefined;
  /** Which delivery this is, from 1: greater if earlier runs of it were interrupted. */
  readonly delivery: number;
  /** When the call was made, by the store's clock, epoch milliseconds. */
  readonly queuedAt: number;
  /** For how many later calls with the same key it stands. */
  readonly merged: number;
}

/** Why a run began. */
export interface Cause {
  /** Why its job runs, if no caller waits for it: its schedule, or a queued call. */
  readonly origin?: 'schedule' | QueuedCallFacts | undefined;
  /** What started it, and which person did, if the lease itself does not say. */
  readonly started?: Annotation | undefined;
}

/**
 * What a call is.
 *
 * - `by-hand`: somebody made it. Made by a job that holds its lock, it runs inside that job, unless it belongs to a start.
 * - `queueable`: the same, but it is queued if it finds its lock taken. Then it was not skipped.
 * - `fired`: the scheduler fired it. It is never nested, whatever async context it inherits.
 * - `election`: an attempt to lead. Nothing reports that it was refused, or waits: no job was skipped.
 * - `drain`: it runs queued calls. It is never nested, and nothing reports it.
 */
type CallKind = 'by-hand' | 'queueable' | 'fired' | 'election' | 'drain';

/** One call through a lock. */
export interface LockCall {
  readonly kind: CallKind;
  readonly name: string;
  readonly job: string | undefined;
  readonly settings: LockSettings;
  /** The start of its job that the call belongs to: the store grants each start once. Such a call is never nested. */
  readonly start?: JobStart | undefined;
  /** Whether only those who listen to its event need more of a refusal than the reason. */
  readonly brief?: boolean;
  /** Ends the wait in line. */
  readonly signal?: AbortSignal | undefined;
  /** The place that the call takes in line. */
  readonly place?: number | undefined;
  /** What started the call, and which person did, if its lease does not say: see `Annotation`. */
  readonly started?: Annotation | undefined;
}

/** Whether a call may run inside of a job that holds its lock. */
export const mayBeNested = ({ kind, start }: LockCall): boolean =>
  kind !== 'fired' && kind !== 'drain' && start === undefined;

/** Whether a call stands in line if it finds its lock taken. */
export const mayWait = ({ wait = 0 }: Pick<LockSettings, 'wait'>): boolean => wait > 0;

/** Whether the library itself made the call: then nothing reports what becomes of it. */
export const isBehindTheScenes = ({ kind }: LockCall): boolean => kind === 'election' || kind === 'drain';

/** Where a call comes from, for messages. */
export const whereOf = ({ name, job }: Pick<LockCall, 'name' | 'job'>): string =>
  job ?? `lock ${JSON.stringify(name)}`;

/** A call that did not run its job. */
export interface Skipped extends RefusalFacts {
  readonly ran: false;
  readonly reason: SkipReason;
  /** What went wrong, for `store-unavailable` and `invalid-name`. */
  readonly error?: Error;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
}

/** The outcome of a call: the job's value, or why it did not run. */
export type RunResult<T> = { readonly ran: true; readonly value: T } | Skipped;
