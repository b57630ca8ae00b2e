import type { Clock } from '../../base/clock.js';
import type { Duration } from '../../base/duration.js';
import type { SchedulerLockEvent } from '../../contract/events/events.js';
import type { LockStore } from '../../contract/lock-store.js';
import type { RedisConnectionSource } from '../../stores/redis/connection-options.js';
import type { LockOptions } from './lock-options.js';

/**
 * How an application remembers who ran what, and notices jobs that did not run. `undefined` means the default. Without a store that
 * keeps histories it has no effect.
 */
export interface InsightOptions {
  /**
   * How many runs are kept of each lock, for 30 days: this many that completed, and as many others, from 1 to 10000.
   *
   * @default 100
   */
  readonly keep?: number | undefined;
  /**
   * How often an instance shows the fleet that it is up, from 1 s to 1 h. After three times this it counts as gone.
   *
   * `'with-ticks'`: when it starts, with the ticks of its jobs (every 30 s at most), and once a day. Each beat says when the next tick
   * comes. An instance that has not beaten 90 s after that counts as gone. Between ticks it sends nothing, so a database can sleep.
   *
   * @default '30s'
   */
  readonly beat?: Duration | 'with-ticks' | undefined;
  /**
   * What is kept of the error of a failed run. `'message'`: its name and 200 characters of its message, which may hold personal data;
   * passwords in URLs are taken out. `'type'`: its name. `'none'`: nothing. Or a function that makes the text; 200 characters of it are
   * kept.
   *
   * @default 'message'
   */
  readonly error?: 'none' | 'type' | 'message' | ((error: unknown) => string) | undefined;
  /**
   * Name of your application. If two applications have a job of one name in one store, both log a warning at the start. Applications that
   * share their jobs need the same name.
   *
   * @default the name in the `package.json` nearest to the main module
   */
  readonly application?: string | undefined;
  /**
   * The version of your application, such as the commit, to tell instances apart during a deploy.
   *
   * @default the version in the same `package.json`
   */
  readonly version?: string | undefined;
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
   * How long the leader's lease lives without a renewal: for that long, no other instance replaces a dead leader. The others
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
