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
import type { PausedBy } from './pause.js';

export type { LeaseRef, ReleaseOutcome, WaitRequest } from './lease-ref.js';

/** An object under construction, whose type is read-only for all other code. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Where leases live. Data access only: no timers, no policy, no logging.
 *
 * Rules that every store keeps; the contract suite in `nestjs-scheduler-lock/testing` checks each of them:
 *
 * 1. Of any number of concurrent `acquire` calls for one free or expired lock, exactly one wins.
 * 2. `acquire` is idempotent per token: if this very token already holds the lock, the store answers with the grant that it
 *    recorded.
 * 3. A lease is its token *and* its fencing token. One token can have several leases, one after another (rule 15).
 *    3.1. `extend` and `release` change something only while this very lease is live, compared and set in one operation. If the
 *         token has a newer lease, they answer as for a lease of a stranger.
 *    3.2. Nothing that arrives late shortens a lease. Neither does `acquire` for the token of a live lease, even if it asks for
 *         less.
 *    3.3. The fencing token 0, of a grant that was never answered, stands for whatever lease its token has.
 *    3.4. One exception, *restore*: the store forgot the lock, and its side data is gone too, or still names this very lease as the
 *         newest and not ended, or names an older lease. (An older lease has a smaller fencing token: a snapshot or a replica
 *         missed the last writes.) Then `extend` writes lock and side data back, with the lease's own fencing token. The lease's
 *         tick comes back unless a newer one of the job is known.
 *    3.5. The older lease may even have the lock, live or kept. It was over when this lease was granted, so it counts as forgotten,
 *         also if it has the same token.
 *    3.6. An ended lease is never restored: `release` records it as ended, and frees the lock if an older lease has it. A lease
 *         with the fencing token 0 is no such case: recording its end could hide a live lease.
 * 4. A store decides whether the start of a job may begin. Other jobs under the same lock have ticks of their own.
 *    4.1. `acquire` refuses a tick of a job (`already-ran`) if that tick or a newer one was started. An interrupted run of the tick
 *         may be repeated up to `rerun` times.
 *    4.2. It refuses a tick (`clock-skew`) that lies further in the future of the store's clock than `maxClockSkew`.
 *    4.3. It refuses an interval (`already-ran`) until a tenth of the interval before it is due again. If the due time lies further
 *         ahead than the interval and a tenth, the store's clock was set back, and the interval counts from now on.
 *    4.4. `release` with the outcome `abandoned` also takes back the start that this token recorded (tick and attempt, or
 *         interval), even after the lease has run out, and even if another holder has or had the lock since. It does not if the job
 *         was started again, or the end of the run is recorded. Otherwise it answers and changes the same as for any outcome.
 * 5. The store's clock measures expiry, never the instances' clocks.
 *    5.1. A released lock stays free even if the store's clock is set back by hours after the release.
 * 6. Fencing tokens are safe integers and grow with every lease of a name.
 *    6.1. They keep growing after expiry, release, eviction of side data, and a restart of the store that lost all data.
 * 7. Names are kept apart exactly; durations are whole milliseconds from 1 ms to 30 days.
 * 8. A refused attempt changes nothing.
 *    8.1. Each lease of a batch is judged alone: one broken lock does not stop the others. Each of several simultaneous calls is
 *         judged by its own request.
 *    8.2. Each call is one round trip (per node, on a cluster). Only attempts and renewals of many leases at once may take another
 *         one.
 * 9. `inspect`, if a store has it, shows for every lock what `acquire` would find, and what the store remembers of its jobs.
 *
 * A store with `hints` has lines as well, one for each lock:
 *
 * 10. An `acquire` with `wait` that finds the lock taken, or another call in line, stands in line from then on: greater priority
 *     first, then in the order in which the calls came.
 *    10.1. While a call stands in line, the store grants the lock to the first one only, and refuses every other call as `held`,
 *          also a call without `wait`.
 * 11. `acquire` again with the same token keeps its place.
 *    11.1. If the store does not know the token any more, the call enters at its `place`.
 *    11.2. A grant that is asked for again lives for a whole ttl from then on, or for as long as it would have, whichever is longer.
 * 12. When a live lease is released, and its lock is not kept, the store *calls* the first in line: for 2 s from then on it
 *     reserves the lock for that call, and sends a hint to the call's process.
 *    12.1. An attempt that finds a free lock calls the first in line, too.
 * 13. `release` with the outcome `abandoned` and `wait` takes a token out of line.
 *    13.1. If the store had called that token, it calls the next one.
 * 14. A call that does not come in time after it was called is not in line any more.
 *    14.1. The store then passes over its whole process until that process asks again: so a dead process costs the others one such
 *          time, however many of its calls stand in line.
 *    14.2. The store also passes over calls whose `limit` has passed. If no call is left, the lock is free for all.
 *
 * A store with `queuedCalls` keeps queued calls as well, in a queue for each lock:
 *
 * 15. A queued call leaves only with the end of its run.
 *    15.1. `enqueue` puts a call behind those of its priority. Or it gives the arguments to a queued call with the same job and key
 *          that no lease has taken yet.
 *    15.2. `next` ends the queued call of a live lease, and takes the first one of the jobs that the caller can run, with a new
 *          fencing token, unless a call in line stands before it.
 *    15.3. That is another lease of the same token, and the one before is over. `next` for the one before changes nothing: it
 *          answers with the queued call and the fencing token that the token has, or that the lease is not held.
 *    15.4. `release` ends the queued call of its lease, too.
 *    15.5. A queued call whose run was interrupted (`aborted` or `abandoned`, or its lease is over) stays at its place, and is
 *          delivered again, `redeliver` times at most. After that, and if its run failed, it becomes a dead letter.
 *
 * A store with `history` remembers for people who ran what:
 *
 * 16. A `release` with a `record` keeps the record: in the same operation, or at most a second later.
 *     `next` does the same with the record of the run that has ended.
 *     No record waits once `flush` of the history has resolved, or if there is no `flush`.
 *    16.1. A record changes no answer, and a record that cannot be kept fails no call.
 *    16.2. A run whose lease was lost keeps its record, too. A release that is sent again keeps no second record. If two releases of
 *          a lease have a record, as where a person breaks it, that of the release which ended the lease counts. Nothing is kept of
 *          an abandoned lease.
 *    16.3. A grant for a request with `history` names the lease before it, if that one has ended by itself. `interrupted` keeps
 *          this once, but never over the end of that run, which takes its place.
 *    16.4. `entries` answers the newest first. Runs that completed do not push out those that went wrong.
 * 17. `miss` keeps a tick that nobody has started, once for each instance that notes it.
 *    17.1. It keeps nothing if the tick or a newer one was started, if the grace of an interval has not passed since it was due, or
 *          while a run of the job goes on. A run of another job does not count.
 *    17.2. Of all instances that note one tick by `miss`, exactly one is the first. Of all that note by `told` that the
 *          tick was reported, exactly one is the first.
 * 18. `beat` remembers an instance as it was last seen, and each list of jobs once, from whichever instance it came.
 *    18.1. The store may ignore a beat with an unknown list.
 *    18.2. `instances` answers all instances that were seen in the last days, with the store's time.
 *
 * A hint only says that it is worthwhile to ask now: one that is lost, late or false costs time, nothing else.
 *
 * A call that fails rejects with `StoreUnavailableError`. The error has `outcome: 'not-applied'` if the call was certainly not
 * carried out. It has `refused: true` if the store answers, but refuses such calls until something there is repaired. A call
 * rejects with `LockStateError` if the entry of this lock is broken, and nothing was changed. An `acquire` for a name that the
 * store cannot keep rejects with `SchedulerLockConfigError`: that call is skipped as `invalid-name`, whatever `onStoreError` says.
 * Any other rejection counts as a call that may have been carried out. So does an answer that is not listed below, such as a
 * fencing token that is a text.
 */
export interface LockStore {
  /**
   * What the log calls the store, after the word "in": its kind and its address, without secrets, such as `Redis 127.0.0.1:6379`.
   *
   * @default the name of its class
   */
  readonly label?: string;
  /**
   * Whether locks live on several servers, so that one can be out of reach while the others answer. Then only an answer for a lock
   * that failed ends an outage. True for a Redis Cluster.
   *
   * @default false
   */
  readonly partitioned?: boolean;
  /** One atomic attempt to take a lock. */
  acquire(request: AcquireRequest): Promise<AcquireResult>;
  /** Renews many leases in one call. The results are in the order of the leases. */
  extend(leases: readonly LeaseRef[], options?: ExtendOptions): Promise<ExtendResult[]>;
  /** Releases a lease, and records it as ended. */
  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult>;
  /**
   * Called once at start-up, before any other call.
   *
   * @throws SchedulerLockConfigError to stop the start: malformed connection, rejected credentials
   * @throws StoreUnavailableError if the store cannot be reached now: the application starts, and skips
   */
  init?(): Promise<void>;
  /**
   * Asked once at start-up, after `init`: what a person should change in the set-up of the store although it works, for one warning in
   * the log. Without an answer within two seconds, or after a rejection, there is none.
   */
  warning?(): Promise<string | undefined>;
  /**
   * Why this store cannot keep the name of a lock (its column is too short, say). The text follows the name, says what to do, and
   * ends with a full stop. `undefined` if it can keep the name, or does not know yet. Names that `acquire` takes have no problem,
   * those that it rejects have one. A store without this method keeps every name of up to 200 characters.
   *
   * Called after `init` with the names of decorated methods and elections: each name with a problem stops the start. Answers at
   * once, from what `init` has found out.
   */
  nameProblem?(name: string): string | undefined;
  /** Called once at shutdown, after the last other call. Closes only the connections that the store itself has opened. */
  close?(): Promise<void>;
  /**
   * The locks that the store knows, in no particular order: those with these names, or all of them, which is not cheap. Meant for
   * people: the answer may be outdated by the time it is read. Not for decisions.
   */
  inspect?(names?: readonly string[]): Promise<LockInfo[]>;
  /**
   * Only a store with this method takes `wait`. Opens the channel on which a process receives the hints for its calls in line.
   * Each application opens one, with its first call that waits. Answers at once, also if the channel cannot be opened yet.
   *
   * @param process its name, as in {@link WaitRequest.process}
   * @param called receives the token of the call
   * @returns `undefined` if there are no hints: calls in line find out by asking
   */
  hints?(process: string, called: (token: string) => void): HintChannel | undefined;
  /** Only a store with this takes queued calls. */
  readonly queuedCalls?: QueuedCallStore;
  /** Only a store with this remembers who ran what. */
  readonly history?: HistoryStore;
  /**
   * A call was not answered in time, or its connection broke: that connection may be dead, and so may others of its age, without a
   * sign of it. Gives up those that do not answer, so that the next call goes over one that works. Any number of calls may fail
   * at once; on a store that answers, this changes nothing. An attempt of a tick is sent once more after this.
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

/** The channel on which a process receives hints for its calls in line. */
export interface HintChannel {
  /** Whether hints arrive. If not, calls in line ask more often. */
  readonly open: boolean;
  /** Why hints will never arrive, and what to do, for the log. */
  readonly problem?: string | undefined;
  close(): void;
}

/** One attempt, for a start of a job or without one. */
export interface AcquireRequest extends Omit<LeaseRef, 'fencingToken' | 'tick'>, JobStart {
  /**
   * Whether nobody needs more of a refusal than its reason. A store may leave out the rest then, if that saves work.
   *
   * @default false
   */
  readonly brief?: boolean;
  /**
   * Whether the store remembers the run: then a grant names the lease before it, if that one has ended by itself.
   *
   * @default false
   */
  readonly history?: boolean;
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
      /**
       * The lease before this one, if it was never released. Its job, tick and attempt if it was asked for with `history`, and
       * otherwise where they are known. The answer to an attempt that is sent again may leave it out.
       */
      readonly interrupted?: Pick<LeaseRef, 'fencingToken' | 'holder' | 'job' | 'tick' | 'attempt'>;
    }
  | AcquireRefusal;

/** Why an attempt got no lease. It has changed nothing. */
export interface AcquireRefusal extends RefusalFacts {
  readonly acquired: false;
  readonly reason: 'held' | 'already-ran' | 'cooling-down' | 'clock-skew';
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
  /** For `paused`: by whom, why, and until when. A store need not know of pauses: the holder's text says it. */
  readonly paused?: PausedBy;
}

/** Options of {@link LockStore.extend}. */
export interface ExtendOptions {
  /**
   * Milliseconds after which the caller counts the whole call as failed. A store that asks several servers answers before that,
   * with `held: null` for the leases on servers that hang.
   */
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
  /** How the run went, to be remembered. */
  readonly record?: RunRecord;
}

/** Whether this call ended the lease, or why the lease was over before. */
export type ReleaseResult =
  | { readonly released: true }
  /** `taken`: another lease has the lock; `expired`: none has it; `ended`: this lease was released before. */
  | { readonly released: false; readonly reason: 'taken' | 'expired' | 'ended' };
