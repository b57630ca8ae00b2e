import type { Duration } from '../../base/duration.js';

/** What to do when the store does not answer; see {@link LockOptions.onStoreError}. */
export type OnStoreError = 'skip' | 'run';

/** How a skipped call by hand ends; see {@link LockOptions.onSkip}. */
export type OnSkip = 'ignore' | 'throw';

/** How the run of a tick is tried again if it throws. */
export interface RetryOptions {
  /**
   * How many runs of a tick there may be, the first one included, from 2 to 100. Those that `rerun` repeats count, too.
   *
   * @default 3
   */
  readonly attempts?: number | undefined;
  /**
   * How long after the first failure the second run begins.
   *
   * @default '1m'
   */
  readonly delay?: Duration | undefined;
  /**
   * By how much the delay grows with each further failure: a whole number from 1 to 10.
   *
   * @default 2
   */
  readonly factor?: number | undefined;
}

/** How calls of one moment are spread; see {@link LockOptions.spread}. */
export interface SpreadOptions {
  /** @default 'job' */
  readonly by?: 'job' | 'instance' | undefined;
  /**
   * Within which time, at most 6 h.
   *
   * @default 1000 for instances; for jobs it has to be given
   */
  readonly within?: Duration | undefined;
}

/** Options that the module sets for all locks and each lock can set for itself. `undefined` means the default. */
export interface LockOptions {
  /**
   * How long a lease lives in the store without a renewal. It limits how long a lock stays taken after its holder died, not how
   * long a job may run: the heartbeat renews the lease. From 100 ms to 30 days.
   *
   * @default '1m'
   */
  readonly ttl?: Duration | undefined;
  /**
   * Time between two renewals, at most a third of the ttl. A renewal may come earlier, by up to a third of this time, to go along
   * with others. `false`: never renew. Then the job must end within the ttl.
   *
   * @default 0.3 × ttl
   */
  readonly heartbeat?: Duration | false | undefined;
  /**
   * How long a job may run before its signal aborts with `LockTimeoutError`. After that, its lease is renewed for one more ttl and
   * then left to expire, so a job that hangs never blocks the others for good.
   *
   * @default none
   */
  readonly timeout?: Duration | undefined;
  /**
   * How long the lock stays taken from the start of a run, even if the job ends sooner. At most the ttl.
   *
   * @default none
   */
  readonly atLeast?: Duration | undefined;
  /**
   * How long a call waits for its turn if the lock is taken; `0`: it does not wait. Calls that wait stand in a line over the whole
   * fleet: greater `priority` first, then first come, first served. While one stands in line, no other call gets the lock. At most
   * 1 h. On a `@Cron()`: late rather than never.
   *
   * @default 0
   */
  readonly wait?: Duration | undefined;
  /**
   * The place in line among calls that wait: greater goes first. A whole number from -100 to 100. It is strict: a steady stream of
   * greater ones lets smaller ones wait until their time is over. On a job that does not wait it stops the start.
   *
   * @default 0
   */
  readonly priority?: number | undefined;
  /**
   * `false`: the job never runs on this instance, not even by hand.
   *
   * @default true
   */
  readonly enabled?: boolean | undefined;
  /**
   * What to do when the store does not answer. `'skip'`: the job does not run; with `onSkip: 'throw'` a call by hand rejects. `'run'`:
   * the job runs without a lock, on every instance: only for jobs that may run twice.
   *
   * @default 'skip'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * `@Cron()`: run each tick once over the whole fleet, whatever the clocks say. `@Interval()`: one run per interval over the whole
   * fleet. `false`: the lock only keeps runs apart, and `rerun` and `catchUp` have no effect. Calls by hand always run if the lock
   * is free.
   *
   * @default true
   */
  readonly oncePerTick?: boolean | undefined;
  /**
   * `@Cron()`: how often the run of a tick may be repeated, on whichever instance is up, if its holder died, lost its lease, or was
   * shut down. A newer tick supersedes it. A job that throws has ended, and so has one that passed its `timeout`. With this option
   * a job may run more than once per tick, so it must tolerate that.
   *
   * @default 0
   */
  readonly rerun?: number | undefined;
  /**
   * `@Cron()`: how old the newest tick may be to run late, if no instance has started it. It runs after a restart of all instances,
   * after an outage of the store, or when its lock was taken and becomes free. At a start nothing runs for a job that never started
   * before.
   *
   * @default false
   */
  readonly catchUp?: Duration | false | undefined;
  /**
   * `@Cron()`: asks for the lock a while after the date, so that jobs of one minute do not all begin at once. `'2m'`: within this time, at an
   * offset that is the same for a job on all instances and for all its dates, and never behind the middle between two dates. `{ by: 'instance' }`:
   * instances ask one after another within a second, in another order for each date, so that not the fastest clock runs everything.
   * The run belongs to its date all the same, and counts as overdue that much later.
   *
   * @default none: all ask at the date
   */
  readonly spread?: Duration | SpreadOptions | undefined;
  /**
   * How long after its tick a run that no instance has started counts as overdue; `false`: never.
   *
   * @default '1m'
   */
  readonly overdue?: Duration | false | undefined;
  /**
   * How a call by hand ends when it is skipped. `'ignore'`: it resolves `undefined`. `'throw'`: it rejects with
   * `LockNotAcquiredError`. A call by the scheduler always resolves, and a queued one resolves `undefined` with either.
   *
   * @default 'ignore'
   */
  readonly onSkip?: OnSkip | undefined;
}
