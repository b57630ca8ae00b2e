import type { Clock } from '../clock.js';
import type { Duration } from '../duration.js';
import type { SchedulerLockEvent } from '../events/events.js';
import type { LockStore } from '../stores/lock-store.js';
import type { RedisConnectionSource } from '../stores/redis/connection-options.js';

/** What to do when the store does not answer; see {@link LockOptions.onStoreError}. */
export type OnStoreError = 'skip' | 'throw' | 'run';

/** How a skipped call by hand ends; see {@link LockOptions.onSkip}. */
export type OnSkip = 'ignore' | 'throw';

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

/**
 * How an application remembers who ran what, and notices jobs that did not run. `undefined` means the default. Without a store that
 * keeps histories it has no effect.
 */
export interface InsightOptions {
  /**
   * How many runs are kept of each lock: so many that completed, and as many others, from 1 to 10000.
   *
   * @default 100
   */
  readonly keep?: number | undefined;
  /**
   * How long a run is kept, at most 400 days.
   *
   * @default '30d'
   */
  readonly for?: Duration | undefined;
  /**
   * How often an instance shows the fleet that it is up, from 1 s to 1 h. After three times this it counts as gone.
   *
   * `'with-ticks'`: when it starts, with the ticks of its jobs (every 30 s at most), and once a day. Each beat tells when the next tick
   * comes. An instance that has not beaten 90 s after that counts as gone. Between ticks it sends nothing, so a database can sleep.
   *
   * @default '30s'
   */
  readonly beat?: Duration | 'with-ticks' | undefined;
  /**
   * How long after its tick a job that no instance has started counts as overdue; `false`: never. See `overdue` of a job.
   *
   * @default '1m'
   */
  readonly overdue?: Duration | false | undefined;
  /**
   * What is kept of the error of a failed run. `'message'`: its name and 200 characters of its message, which may hold personal data;
   * passwords in URLs are taken out. `'type'`: its name. `'none'`: nothing. Or a function that makes the text; 200 characters of it are
   * kept.
   *
   * @default 'message'
   */
  readonly error?: 'none' | 'type' | 'message' | ((error: unknown) => string) | undefined;
  /**
   * Name of your application. Two applications that have a job of one name in one store are warned of it at the start: give the same name
   * to those that shall share their jobs.
   *
   * @default the name in the `package.json` nearest to the main module
   */
  readonly application?: string | undefined;
  /**
   * Of your application, to tell instances apart during a deploy.
   *
   * @default the version that npm or another package manager has started
   */
  readonly version?: string | undefined;
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
   * What to do when the store does not answer. `'skip'`: the job does not run. `'throw'`: the call rejects with
   * `StoreUnavailableError`. `'run'`: the job runs without a lock, on every instance: only for jobs that may run twice.
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
   * The store refuses a tick that lies further than this in the future of its clock: one machine with a bad clock must not lock the
   * others out.
   *
   * @default '1m'
   */
  readonly maxClockSkew?: Duration | undefined;
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
   * How a call by hand ends when it is skipped. `'ignore'`: it resolves `undefined`. `'throw'`: it rejects with
   * `LockNotAcquiredError`. A call by the scheduler always resolves.
   *
   * @default 'ignore'
   */
  readonly onSkip?: OnSkip | undefined;
  /**
   * `true`: a shutdown aborts the signal of a running job at once, for jobs that can stop and go on elsewhere (`rerun`). The job
   * still gets `shutdownTimeout` to end, and keeps its lease. `false`: the signal aborts only after that time.
   *
   * @default false
   */
  readonly abortOnShutdown?: boolean | undefined;
}

/** Options of `SchedulerLockModule.forRoot()`. */
export interface SchedulerLockModuleOptions extends LockOptions {
  /**
   * Redis: a URL, ioredis options, or your own `Redis` or `Cluster` client, which this library never closes. With `key` and
   * `keyPrefix`, short for `store: new RedisLockStore(connection, { key, keyPrefix })` of `nestjs-scheduler-lock/redis`.
   */
  readonly connection?: RedisConnectionSource | undefined;
  /**
   * Any other store. `'memory'` keeps leases in this process: other processes are not excluded.
   *
   * @default Redis at `connection`; without one `'memory'`, or an error if `NODE_ENV` is `production`
   */
  readonly store?: LockStore | 'memory' | undefined;
  /**
   * With `connection`: locks are kept at `<keyPrefix>:<name>:lock`.
   *
   * @default 'scheduler'
   */
  readonly keyPrefix?: string | undefined;
  /**
   * With `connection`: makes the key of a lock, instead of `keyPrefix`. Different names need different keys, or they exclude each
   * other. `RedisLockStoreOptions` of `nestjs-scheduler-lock/redis` says what becomes of a bad key.
   */
  readonly key?: ((name: string) => string) | undefined;
  /**
   * Identifies this process in the store, in events and in logs. Must differ between instances.
   *
   * @default 'host:pid:short-uuid'
   */
  readonly instanceId?: string | undefined;
  /**
   * How long one call of the store may take, at most a third of every ttl. An attempt of a tick that is not answered is made once
   * more, over another connection, and may take twice as long.
   *
   * @default '2s', less for a ttl under 6 s
   */
  readonly storeTimeout?: Duration | undefined;
  /**
   * How long a shutdown waits for running jobs before it aborts their signals; `0` aborts them at once. Kubernetes kills after
   * 30 s. Jobs that have lost their lease or passed their `timeout` get one second.
   *
   * @default '25s'
   */
  readonly shutdownTimeout?: Duration | undefined;
  /**
   * All scheduled jobs run on one elected instance: the others refuse what their schedulers fire. An
   * instance without any scheduled job takes no part in that election.
   *
   * @default none: each instance fires its jobs, and each job's lock decides
   */
  readonly leader?: LeaderOptions | undefined;
  /**
   * The types of events that are written to Nest's logger, each at its own level; `false`: none. Listeners get every event either
   * way.
   *
   * @default all types, but `renewed` only if the lease was written back to the store
   */
  readonly log?: readonly SchedulerLockEvent['type'][] | false | undefined;
  /**
   * The clock and the timers of locks, ticks, elections, events and the memory store: give a `ManualClock` of
   * `nestjs-scheduler-lock/testing` in tests. Redis and databases use their own clocks, the scheduler that of the machine.
   *
   * @default the clock of this machine
   */
  readonly clock?: Clock | undefined;
  /**
   * Remembers in the store who ran what, shows the fleet that this instance is up, and notices jobs that did not run. `false`: none of
   * this, and nothing in the store but what locks need.
   *
   * @default on, with the defaults of {@link InsightOptions}
   */
  readonly insight?: InsightOptions | false | undefined;
}

/** Options of `@LeaderElection()`. */
export interface LeaderElectionOptions {
  /**
   * How long the leader's lease lives without a renewal: that long, no other instance replaces a dead leader. The others
   * ask once in a third of it.
   *
   * @default the module's `ttl`
   */
  readonly ttl?: Duration | undefined;
}

/** `forRoot({ leader })`: one instance runs all scheduled jobs. */
export interface LeaderOptions extends LeaderElectionOptions {
  /** Name of the election, and of the leader's lock. */
  readonly name: string;
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
   * becomes a queued call: the store has it and its arguments until it has run, when the lock is free, at least once, also if this process
   * dies. The method resolves `undefined` at once. `'once-more'`: so is one call of all that come meanwhile, with the newest arguments.
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
   * Whether the store remembers its runs (see `insight` of the module).
   *
   * @default true; false for a lock whose name is made from the arguments of each call
   */
  readonly history?: boolean | undefined;
  /**
   * How long after its tick a run that no instance has started counts as overdue; `false`: never.
   *
   * @default `insight.overdue` of the module
   */
  readonly overdue?: Duration | false | undefined;
}

/** Options of `SchedulerLockService.run()` and `acquire()`. */
export interface RunOptions extends Omit<LockOptions, 'onSkip' | 'oncePerTick' | 'rerun' | 'catchUp'> {
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
