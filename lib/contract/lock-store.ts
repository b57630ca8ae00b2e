/*
 * lib/contract: what a store promises: requests and answers as plain data, the rules as sentences, and events as facts.
 * May not enter: I/O, and what only one store needs.
 */
import type { SchedulerLockError } from '../base/errors.js';
import type { JobStart } from '../base/job-start.js';
import type { QueuedCallStore } from './queued-call-store.js';
import type { HistoryStore, RunRecord } from './history-store.js';
import type { LeaseRef, ReleaseOutcome } from './lease-ref.js';
import type { LockInfo } from './lock-info.js';
import type { NewPause, Pause, PausedBy } from './pause.js';

export type { LeaseRef, ReleaseOutcome, WaitRequest } from './lease-ref.js';

/** An object under construction, whose type is read-only for all other code. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Where leases live: `test/contract/README.md` has what every store promises, sentence by sentence. Data access only: no timers, no
 * policy, no logging. To keep locks somewhere else, implement `LockDocuments`, of which `DocumentLockStore` makes a store.
 *
 * A call that fails rejects with `StoreUnavailableError`, with `LockStateError` if what is stored of this lock is broken, or, from `acquire`, with
 * `SchedulerLockConfigError` if the store cannot keep the name.
 */
export interface LockStore {
  /** What the log calls the store: its kind and its address, without secrets, as `Redis 127.0.0.1:6379`. @default the name of its class */
  readonly label?: string;
  /** Whether locks live on several servers, as in a Redis Cluster: only an answer for a lock that failed ends an outage. @default false */
  readonly partitioned?: boolean;
  /** One atomic attempt to take a lock. */
  acquire(request: AcquireRequest): Promise<AcquireResult>;
  /** Renews many leases in one call. The results are in the order of the leases. */
  extend(leases: readonly LeaseRef[], options?: ExtendOptions): Promise<ExtendResult[]>;
  /** Releases a lease, and records it as ended. */
  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult>;
  /** Pauses a lock: until that is over, no attempt gets it but one that goes {@link AcquireRequest.through}. @returns the pause in force, perhaps an earlier one. Only switches call it */
  pause?(name: string, pause: NewPause): Promise<Pause>;
  /** Ends a pause. @returns whether this one was in force */
  resume?(name: string, pause: Pick<Pause, 'id'>): Promise<boolean>;
  /**
   * Called once at start-up, before any other call.
   *
   * @throws SchedulerLockConfigError to stop the start: malformed connection, rejected credentials
   * @throws StoreUnavailableError if the store cannot be reached now: the application starts, and skips
   */
  init?(): Promise<void>;
  /** Asked after `init`: what a person should change although the store works, for one warning in the log. Has two seconds, and may fail. */
  warning?(): Promise<string | undefined>;
  /**
   * Why this store cannot keep the name of a lock. The text follows the name, says what to do, and ends with a full stop. `undefined` if it
   * can, or does not know yet. Names that `acquire` takes have no problem, those that it rejects have one. Called after `init`, and answers
   * at once: a problem of a declared name stops the start. A store without this method keeps every name of up to 200 characters.
   */
  nameProblem?(name: string): string | undefined;
  /** Called once at shutdown, after the last other call. Closes only the connections that the store itself has opened. */
  close?(): Promise<void>;
  /** The locks that the store knows, unordered: those with these names, or all, which is not cheap. For people, not for decisions. */
  inspect(names?: readonly string[]): Promise<LockInfo[]>;
  /** What it keeps besides locks. A call for anything else fails. */
  readonly keeps: Keeps;
  /**
   * Opens the channel on which a process receives the hints for its calls in line. Answers at once, also if it cannot be opened yet.
   *
   * @param process its name, as in {@link WaitRequest.process}
   * @param called receives the token of the call
   * @returns `undefined` if there are no hints: calls in line find out by asking
   */
  hints(process: string, called: (token: string) => void): HintChannel | undefined;
  /** Queued calls. Each call rejects if the store {@link keeps} none. */
  readonly queuedCalls: QueuedCallStore;
  /** Who ran what. Each call rejects if the store {@link keeps} no histories. */
  readonly history: HistoryStore;
  /**
   * A call was not answered in time, or its connection broke: gives up connections that do not answer, so that the next call goes over one
   * that works. On a store that answers, this changes nothing. An attempt of a tick is sent once more after this.
   *
   * @param silence milliseconds without an answer; `undefined` if the connection broke
   * @returns if calls cannot be sent before: a promise that resolves when they can, or when there is no connection to be had
   */
  reconnect?(silence?: number): Promise<void> | void;
  /** Registers a listener for the moment a lost connection is back; returns a function that removes it. */
  onAvailable?(listener: () => void): () => void;
  /** What to do if the store does not answer, a sentence for the log. @internal */
  readonly onSilence?: string | undefined;
  /** Registers a listener for leases that another holder has taken; only a store for tests can notify of them. @internal */
  onLost?(listener: (name: string, holder: string) => void): () => void;
}

/** What a store keeps besides locks, as it declares. */
export interface Keeps {
  /** Calls in line: a call can wait for its lock. */
  readonly lines: boolean;
  /** Queued calls. Those who run them wait for their lock, so lines go with them. */
  readonly queuedCalls: boolean;
  /** Who ran what, and which instances there are. */
  readonly histories: boolean;
}

/** What stores with entries keep. */
export const EVERYTHING: Keeps = { lines: true, queuedCalls: true, histories: true };

/** What a store declares, and does not keep, a sentence each. */
export function undeclared({ keeps, queuedCalls, history }: Partial<LockStore>, shown: string): string[] {
  if (keeps === undefined) return [`store: ${shown} is no LockStore: it does not declare what it \`keeps\`.`];
  const lacks = (kept: keyof Keeps, part: string, has: unknown): string[] =>
    keeps[kept] && !has
      ? [
          `store: ${shown} declares that it keeps ${kept}, and has no ${part}. Add it, or declare \`${kept}: false\`.`,
        ]
      : [];
  return [
    ...lacks('queuedCalls', '`queuedCalls`', queuedCalls),
    ...lacks('queuedCalls', 'lines, in which those who run them wait', keeps.lines),
    ...lacks('histories', '`history`', history),
  ];
}

/** The channel on which a process receives hints for its calls in line. */
export interface HintChannel {
  /** Whether hints arrive. If not, calls in line ask more often. */
  readonly open: boolean;
  /** Why hints will never arrive, and what to do, for the log. */
  readonly problem?: string | undefined;
  close(): void;
}

/** One attempt, for a start of a job or without one. */
export interface AcquireRequest extends Omit<LeaseRef, 'fencingToken' | 'tick'>, Omit<JobStart, 'retry'> {
  /** With a `tick`: how far it may lie in the future of the store's clock, milliseconds. Absent: any distance. */
  readonly maxClockSkew?: number;
  /** Whether nobody needs more of a refusal than its reason: a store may leave out the rest. @default false */
  readonly brief?: boolean;
  /** Whether the store remembers the run: then a grant names the lease before it, if that one has ended by itself. @default false */
  readonly history?: boolean;
  /** Whether a person has it run through a pause. @default false */
  readonly through?: boolean;
}

/** The answer to an attempt: the lease with its fencing token, or why there is none. */
export type AcquireResult =
  | {
      readonly acquired: true;
      readonly fencingToken: number;
      /** Which run of the tick this is, from 1, if there is a tick. */
      readonly attempt?: number;
      /** The schedule that the job's last start came from, if it was another one. */
      readonly previousSchedule?: string;
      /** The lease before this one, if it was never released; its run with `history`. An attempt that is sent again may lack it. */
      readonly interrupted?: Pick<LeaseRef, 'fencingToken' | 'holder' | 'job' | 'tick' | 'attempt'>;
    }
  | AcquireRefusal;

/** Why an attempt got no lease. It has changed nothing. */
export interface AcquireRefusal extends RefusalFacts {
  readonly acquired: false;
  readonly reason: 'held' | 'already-ran' | 'cooling-down' | 'clock-skew' | 'paused';
  /** Where the call stands in line from now on. Absent if it does not. */
  readonly waiting?: {
    /** Orders the line: smaller comes first. */
    readonly place: number;
    /** How many calls stand before it. */
    readonly ahead: number;
  };
}

/** What is known about a refusal. */
export interface RefusalFacts {
  /** Instance id of the holder, if it is one of ours. */
  readonly holder?: string;
  /** Milliseconds until the lock is free unless it is renewed. Absent if it never expires by itself. */
  readonly expiresIn?: number;
  /** The newest tick of the job that was started. Of a call that was skipped for `clock-skew`: the refused tick. Epoch milliseconds. */
  readonly tick?: number;
  /** Whether that tick's run has ended, other than by an interruption (its holder died, lost its lease, or shut down). */
  readonly finished?: boolean;
  /** The store's time, epoch milliseconds, for `clock-skew`. */
  readonly storeTime?: number;
  /** For `paused`: by whom, why, since when and until when. */
  readonly paused?: PausedBy;
}

/** Options of {@link LockStore.extend}. */
export interface ExtendOptions {
  /** Milliseconds for the whole call. A store of several servers answers before, with `held: null` for leases on servers that hang. */
  readonly limit?: number;
}

/** The result for one lease of a batch: still held, or over. */
export type ExtendResult =
  /** `deleted`: the lock alone was gone; what the store keeps beside it still had this lease as live. Only a store that can tell says so. */
  | { readonly held: true; readonly restored?: true; readonly deleted?: true }
  | { readonly held: false; readonly reason: 'taken' | 'expired'; readonly holder?: string }
  /** This lease could not be judged; the others of the batch were. */
  | { readonly held: null; readonly error: SchedulerLockError };

/** Options of {@link LockStore.release}. */
export interface ReleaseOptions {
  /** @default 'completed' */
  readonly outcome?: ReleaseOutcome;
  /** Keeps the lock taken for this many more milliseconds, although its lease has ended. @default 0 */
  readonly keepFor?: number;
  /** For `failed`: its tick may be started once more, so many milliseconds from now. Absent: it may not. */
  readonly retryIn?: number;
  /** How the run went, to be remembered. */
  readonly record?: RunRecord;
}

/** Whether this call ended the lease, or why the lease was over before. */
export type ReleaseResult =
  | { readonly released: true }
  /** `taken`: another lease has the lock; `expired`: none has it; `ended`: this lease was released before. */
  | { readonly released: false; readonly reason: 'taken' | 'expired' | 'ended' };
