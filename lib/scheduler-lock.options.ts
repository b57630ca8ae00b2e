import type { Duration } from './duration.js';
import type { LeaderOptions } from './scheduler-lock.leader-election.js';
import type { LockStore } from './stores/lock-store.js';
import type { RedisConnectionSource } from './stores/redis/redis-connection.js';

/** What to do when the store does not answer; see {@link LockOptions.onStoreError}. */
export type OnStoreError = 'skip' | 'throw' | 'run';

/** What a skipped call by hand does; see {@link LockOptions.onSkip}. */
export type OnSkip = 'ignore' | 'throw';

/** Options that the module sets for all locks and each lock can set for itself. `undefined` means the default. */
export interface LockOptions {
  /**
   * How long a lease lives in the store without a renewal. It bounds how long a lock stays taken after its holder
   * died, not how long a job may run: the heartbeat renews it. From 100 ms to 30 days.
   *
   * @default '1m'
   */
  readonly ttl?: Duration | undefined;
  /**
   * Time between two renewals, at most a third of the ttl; a renewal may come a third of it early to go along with
   * others. `false`: never renew. Then the job must end within the ttl.
   *
   * @default 0.3 × ttl
   */
  readonly heartbeat?: Duration | false | undefined;
  /**
   * How long a job may run before its signal aborts with `LockTimeoutError`. It is renewed for one more ttl and then
   * left to expire, so a job that hangs never blocks the others for good.
   *
   * @default none
   */
  readonly timeout?: Duration | undefined;
  /**
   * How long the lock stays taken from the start of a run, though the job ends sooner. At most the ttl.
   *
   * @default none
   */
  readonly atLeast?: Duration | undefined;
  /**
   * `false`: the job never runs on this instance, not even by hand.
   *
   * @default true
   */
  readonly enabled?: boolean | undefined;
  /**
   * What to do when the store does not answer. `'skip'`: nobody runs. `'throw'`: the call rejects with
   * `StoreUnavailableError`. `'run'`: run without a lock, on every instance: only for jobs that may run twice.
   *
   * @default 'skip'
   */
  readonly onStoreError?: OnStoreError | undefined;
  /**
   * `@Cron()`: run each tick once over the whole fleet, whatever the clocks say. `@Interval()`: one run per interval
   * over the whole fleet. `false`: the lock only keeps runs apart, and `rerun` and `catchUp` have no effect. Calls by hand
   * always run if the lock is free.
   *
   * @default true
   */
  readonly oncePerTick?: boolean | undefined;
  /**
   * A tick further than this in the future of the store's clock is refused: one machine with a bad clock must not lock
   * the others out.
   *
   * @default '1m'
   */
  readonly maxClockSkew?: Duration | undefined;
  /**
   * `@Cron()`: how often the run of a tick may be repeated, on whichever instance is up, if its holder died, lost its
   * lease, or was shut down. A newer tick supersedes it. A job that throws has ended, and so has one that passed its
   * `timeout`. With this a run can happen more than once: the job must stand it.
   *
   * @default 0
   */
  readonly rerun?: number | undefined;
  /**
   * `@Cron()`: how old the newest tick may be to be run after all, if nobody started it: after a restart of all
   * instances, or an outage of the store. Nothing is run for a job that never started before.
   *
   * @default false
   */
  readonly catchUp?: Duration | false | undefined;
  /**
   * What a call by hand does when it is skipped. `'ignore'`: it resolves `undefined`. `'throw'`: it rejects with
   * `LockNotAcquiredError`. A call by the scheduler always resolves.
   *
   * @default 'ignore'
   */
  readonly onSkip?: OnSkip | undefined;
}

/** Options of `SchedulerLockModule.forRoot()`. */
export interface SchedulerLockModuleOptions extends LockOptions {
  /**
   * Redis, as a URL, ioredis options, or your own `Redis` or `Cluster` client. A client of yours is never closed.
   */
  readonly connection?: RedisConnectionSource | undefined;
  /**
   * Any other store. `'memory'` keeps leases in this process: other processes are not excluded.
   *
   * @default Redis at `connection`; without one `'memory'`, or an error if `NODE_ENV` is `production`
   */
  readonly store?: LockStore | 'memory' | undefined;
  /**
   * Redis: locks are kept at `<keyPrefix>:<name>:lock`.
   *
   * @default 'scheduler'
   */
  readonly keyPrefix?: string | undefined;
  /**
   * Redis: the key of a lock, instead of `keyPrefix`. Different names need different keys, or they exclude each other: those
   * of decorated methods and elections are compared when the application starts.
   */
  readonly key?: ((name: string) => string) | undefined;
  /**
   * Names this process to people and in the store. Must differ between instances.
   *
   * @default 'host:pid:short-uuid'
   */
  readonly instanceId?: string | undefined;
  /**
   * How long one call of the store may take, at most a third of every ttl.
   *
   * @default '2s', less for a ttl under 6 s
   */
  readonly storeTimeout?: Duration | undefined;
  /**
   * How long a shutdown waits for running jobs before it aborts their signals. Kubernetes kills after 30 s.
   *
   * @default '25s'
   */
  readonly shutdownTimeout?: Duration | undefined;
  /**
   * All scheduled jobs run on one instance, which is elected: on the others, cron jobs, intervals and timeouts are paused.
   *
   * @default none: each instance fires its jobs, and each job's lock decides
   */
  readonly leader?: LeaderOptions | undefined;
}

/** Options of `@SchedulerLock()`, for a method with the parameters `A`. */
export interface SchedulerLockOptions<A extends readonly unknown[] = never> extends LockOptions {
  /**
   * Name of the lock, or a function of the call's arguments. At most 200 characters, without braces and control
   * characters.
   *
   * @default the job
   */
  readonly name?: string | ((...args: A) => string) | undefined;
  /**
   * Identity of the job, in events and of its ticks. Set it before you rename a class or a method, or its last run is
   * forgotten.
   *
   * @default 'ClassName.methodName' of the concrete class
   */
  readonly job?: string | undefined;
}

/** Options of `SchedulerLockService.run()` and `acquire()`. */
export interface RunOptions extends Omit<LockOptions, 'onSkip' | 'oncePerTick' | 'rerun' | 'catchUp'> {
  /** Identity of the job, for events and history. */
  readonly job?: string | undefined;
  /**
   * Scheduled fire time that the run belongs to, epoch milliseconds, for jobs that you schedule yourself: of each tick
   * of a job one run starts over the whole fleet, and none of a tick older than that.
   *
   * @default none: runs whenever the lock is free
   */
  readonly tick?: number | undefined;
}

/** The defaults, in one place. Durations in milliseconds. */
export const DEFAULTS = {
  ttl: 60_000,
  /** Part of the ttl: a lease survives two renewals that fail. */
  heartbeat: 0.3,
  enabled: true,
  oncePerTick: true,
  rerun: 0,
  catchUp: false,
  maxClockSkew: 60_000,
  onStoreError: 'skip',
  onSkip: 'ignore',
  keyPrefix: 'scheduler',
  storeTimeout: 2_000,
  shutdownTimeout: 25_000,
} as const;
