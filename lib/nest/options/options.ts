/*
 * lib/nest/options: every option: its type and docstring, its default, its name, its check. Rooms below get whole numbers of milliseconds that
 * are valid.
 * May not enter: what is done with an option.
 */
import type { Expect } from '../../lock/report.js';
import type { LockOptions, RetryOptions } from './lock-options.js';

/** What becomes of a call by hand that finds its lock taken; see {@link SchedulerLockOptions.onHeld}. */
export type OnHeld = 'skip' | 'queue' | 'once-more';

/** How calls are queued that find their lock taken, for a method with the parameters `A`. */
export interface QueueOptions<A extends readonly unknown[] = never> {
  /**
   * Calls with the same key that wait become one: the newest arguments count, the first place is kept. A call that comes while the run
   * for its key goes on gets one more run. `''`: all calls become one.
   *
   * @default none: each call stands alone
   */
  readonly key?: '' | ((...args: A) => string) | undefined;
  /**
   * How many queued calls one lock may have, from 1 to 10000. One more is refused as `queue-full`.
   *
   * @default 1000
   */
  readonly max?: number | undefined;
  /**
   * How often a call is run again after its run was interrupted: its process died, lost its lease, or was shut down. After that it
   * becomes a dead letter. A call whose run throws, or passes its `timeout`, becomes one at once.
   *
   * @default 3
   */
  readonly redeliver?: number | undefined;
}

/** Options of `@SchedulerLock()`, for a method with the parameters `A`. */
export interface SchedulerLockOptions<A extends readonly unknown[] = never> extends LockOptions {
  /**
   * Name of the lock, or a function of the call's arguments. At most 200 characters, without braces and control
   * characters. The scheduler calls a method without arguments: there such a function stops the start, unless each of its
   * parameters has a default value.
   *
   * @default the job
   */
  readonly name?: string | ((...args: A) => string) | undefined;
  /**
   * Identity of the job, in events and of its ticks. Set it before you rename a class or a method, or its last run is forgotten.
   * Two methods with the same job stop the start.
   *
   * @default 'ClassName.methodName' of the concrete class
   */
  readonly job?: string | undefined;
  /**
   * What becomes of a call by hand that finds its lock taken (after its `wait`, if it has one). `'skip'`: it does not run. `'queue'`: it
   * becomes a queued call: the store keeps it with its arguments until it has run. It runs at least once, when the lock is free, also if
   * this process dies. The method resolves `undefined` at once. `'once-more'`: all calls that come meanwhile become one queued call, with
   * the newest arguments.
   * A call that finds its lock free runs at once and is not stored: if this process dies then, the call is lost.
   *
   * @default 'skip'
   */
  readonly onHeld?: OnHeld | undefined;
  /**
   * How calls are queued, with `onHeld: 'queue'`.
   *
   * @default none
   */
  readonly queue?: QueueOptions<A> | undefined;
  /**
   * `@Cron()`: the run of a tick that throws is tried again, on this instance or, if it dies meanwhile, on another. Not past the next tick,
   * not while the lock is paused, and not after a `timeout` or a lost lease (see `rerun`). Meanwhile the lock is free. So a job may run more
   * than once per tick, and must tolerate that. Until the last attempt has failed, the job does not count as `failing`.
   *
   * @default none: a run that throws has ended
   */
  readonly retry?: RetryOptions | undefined;
  /**
   * What a run that completes must have reported (`currentLock().report({ invoices: 120 })`): bounds for numbers, such as
   * `{ invoices: { min: 1 } }`, or a function of the report that answers what is missing, a part of a sentence, if anything is. A run that
   * completed without it is `hollow`, which needs attention as a failed one does; not reporting at all is hollow as well. Nothing is repeated.
   *
   * @default nothing is expected
   */
  readonly expect?: Expect | undefined;
  /**
   * Whether the store remembers its runs (see `insight` of the module).
   *
   * @default true; false for a lock whose name is made from the arguments of each call
   */
  readonly history?: boolean | undefined;
}

/** Options of `SchedulerLockService.run()` and `acquire()`. */
export interface RunOptions extends Omit<
  LockOptions,
  'onSkip' | 'oncePerTick' | 'rerun' | 'catchUp' | 'spread' | 'overdue'
> {
  /** Identity of the job, for events and history. */
  readonly job?: string | undefined;
  /**
   * Whether the store remembers its runs (see `insight` of the module).
   *
   * @default false: a caller can make up a name per call
   */
  readonly history?: boolean | undefined;
  /**
   * Scheduled fire time that the run belongs to, epoch milliseconds, for jobs that you schedule yourself. One run per tick of a job
   * starts over the whole fleet, and none for an older tick. Such a call is never nested in another one: if a job that holds the
   * same lock makes it, it is skipped as `held`.
   *
   * @default none: runs whenever the lock is free
   */
  readonly tick?: number | undefined;
  /**
   * Ends the wait: the call rejects with `signal.reason`, and leaves the line. It has no effect on a job that has begun.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined;
}
