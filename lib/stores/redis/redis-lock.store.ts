/*
 * lib/stores/redis: locks in Redis and Valkey, one server, Sentinel or Cluster. Queued calls, histories and instances are entries, by the
 * rules of all stores. A lock itself (acquire, extend, release, and its line) is one Lua script each: a second copy of those rules, which is
 * the price of the speed that Redis is taken for. Measured with the shared rules over Redis instead: 1.5 times the processor time for lease
 * and release, 1.55 with ticks, 2.5 for holders that take turns, 2.2 for 1,000 at once, 1.4 for a refusal, 4.7 for a brief one, 2.3 for a renewal.
 * May not enter: timers that renew, policy, further rules in Lua, and what another store needs.
 */
import { noLongerThan } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { Moments } from '../../rules/entries/lines.js';
import { EntryHistory } from '../../rules/entries/history.js';
import { EntryQueue } from '../../rules/entries/queue.js';
import { LOOK_FOR_QUEUED } from '../../contract/queued-call-store.js';
import {
  type AcquireRequest,
  type AcquireResult,
  EVERYTHING,
  type ExtendOptions,
  type ExtendResult,
  type HintChannel,
  type LeaseRef,
  type LockStore,
  type ReleaseOptions,
  type ReleaseResult,
  type WaitRequest,
} from '../../contract/lock-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { NewPause, Pause } from '../../contract/pause.js';
import type { FastPort, Caller } from '../../contract/fast-port.js';
import { NOTHING_RAN } from '../../contract/allowances.js';
import { connectionProblem, type RedisConnectionSource } from './connection-options.js';
import { LockLooks } from './inspect.js';
import { RedisEntries } from './entries.js';
import { evictionWarning } from './eviction.js';
import { DEFAULT_KEY_PREFIX, keyProblems, OF_HISTORY, OF_QUEUE, ownKeys, sharedKeys } from './keys.js';
import { LeaseCalls, LeaseCommands } from './lease-commands.js';
import { checkRights } from './probe.js';
import { acquireArguments, flags, releaseArguments, startArgument } from './arguments.js';
import { Renewals } from './renewals.js';
import { RedisConnection } from './redis-connection.js';
import { PAUSE, pauseArguments, readPause, RESUME } from './pause-scripts.js';
import { isYes, readAcquire, readRelease } from './replies.js';
import { Hints, publish } from './hints.js';
import { LEAVE, WAIT } from './line-scripts.js';
import { RELEASE } from './release-script.js';
import { ACQUIRE } from './acquire-script.js';
import { drainingAt, RedisQueueLocks } from './queue-locks.js';
import { LOOK_FIRST } from './shortcuts.js';

/** How long a shutdown waits for records, ms: a server that is frozen must not hold it up. */
const CLOSE_LIMIT = 2_000;

/** Options of {@link RedisLockStore}. `undefined` means the default. */
export interface RedisLockStoreOptions {
  /**
   * Locks are kept at `<keyPrefix>:<name>:lock`.
   *
   * @default 'scheduler'
   */
  readonly keyPrefix?: string | undefined;
  /**
   * Makes the key of a lock, instead of `keyPrefix`. Different names need different keys, or they exclude each other. The module
   * compares the keys of decorated methods and elections when the application starts. A call is skipped as `invalid-name` if this
   * function throws for its name, or returns no text. So is a call whose key could be the state of another lock (with a hash tag,
   * and `:state` at the end).
   */
  readonly key?: ((name: string) => string) | undefined;
}

/**
 * Leases in Redis or Valkey: on a single server, behind Sentinel, or on a Cluster.
 *
 * ```ts
 * SchedulerLockModule.forRoot({ store: new RedisLockStore('redis://localhost:6379', { keyPrefix: 'jobs' }) })
 * ```
 *
 * The module's options `connection`, `keyPrefix` and `key` are short for this store. It needs the package `ioredis`, which it loads
 * when it makes a client of its own. Such a client queues nothing while Redis is away.
 */
export class RedisLockStore implements LockStore {
  readonly keeps = EVERYTHING;
  readonly queuedCalls: EntryQueue;
  readonly history: EntryHistory;
  readonly #connection: RedisConnection;
  readonly #commands: LeaseCommands;
  readonly #acquires: LeaseCalls<AcquireResult>;
  readonly #releases: LeaseCalls<ReleaseResult>;
  readonly #waits: LeaseCalls<AcquireResult>;
  readonly #leaves: LeaseCalls<void>;
  readonly #pauses: LeaseCalls<Pause>;
  readonly #resumes: LeaseCalls<boolean>;
  readonly #looks: LockLooks;
  /** The prefix of the channels of processes. */
  readonly #channels: string;
  readonly #renewals: Renewals;

  /**
   * Connects to nothing yet: {@link init} does.
   *
   * @param connection a URL (`redis://`, `rediss://`), ioredis options, or your own `Redis` or `Cluster` client, which the store
   *   never closes
   * @throws SchedulerLockConfigError for a connection that can never work, and for bad options
   */
  constructor(connection: RedisConnectionSource, options: RedisLockStoreOptions = {}) {
    const problems = [connectionProblem(connection) ?? [], keyProblems(options)].flat();
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    const { keyPrefix = DEFAULT_KEY_PREFIX, key = (name) => `${keyPrefix}:${name}:lock` } = options;
    this.#connection = new RedisConnection(connection);
    const own = ownKeys(keyPrefix);
    this.#commands = new LeaseCommands(this.#connection, key, Object.values(own), own.instances);
    this.#renewals = new Renewals(this.#connection, this.#commands);
    this.#acquires = new LeaseCalls(this.#commands, ACQUIRE, readAcquire);
    this.#releases = new LeaseCalls(this.#commands, RELEASE, readRelease);
    this.#waits = new LeaseCalls(this.#commands, WAIT, readAcquire);
    this.#leaves = new LeaseCalls<void>(this.#commands, LEAVE, () => undefined);
    this.#pauses = new LeaseCalls(this.#commands, PAUSE, (reply) => readPause(reply as string) as Pause);
    this.#resumes = new LeaseCalls(this.#commands, RESUME, isYes);
    this.#looks = new LockLooks(this.#connection, this.#commands);
    this.#channels = `${keyPrefix}:wake:`;
    const { clock } = this.#connection;
    const kept = new RedisEntries(this.#connection, this.#commands, OF_HISTORY);
    this.history = new EntryHistory(kept, (name) => this.#starts(name), clock);
    const queued = new RedisEntries(this.#connection, this.#commands, OF_QUEUE, own.queued);
    this.queuedCalls = new EntryQueue(queued, {
      locks: new RedisQueueLocks(this.#commands),
      history: this.history,
      moments: new Moments(),
      clock,
      announce: (text) => publish(this.#connection, this.#channels + LOOK_FOR_QUEUED, text),
    });
  }

  /** The kind and the address of the server, without secrets. */
  get label(): string {
    return this.#connection.address;
  }

  /** Whether the client is one of a Cluster. */
  get partitioned(): boolean {
    return this.#connection.isCluster;
  }

  /** @internal */
  get onSilence(): string | undefined {
    return this.#connection.onSilence;
  }

  /**
   * Connects, and tries the commands of the scripts on a lock that does not exist. Several applications of a process may use one
   * store: it closes a client of its own with the last of them, and makes a new one after that.
   *
   * @throws SchedulerLockConfigError if the server rejects the credentials, the database or a command, if it is no Redis, if only
   *   one side uses TLS, if your client has been closed, and if `ioredis` is needed and cannot be loaded
   * @throws StoreUnavailableError if the server cannot be reached within 5 s; a client of the store goes on trying
   */
  async init(): Promise<void> {
    await this.#connection.open();
    await checkRights(this.#connection, this.#commands);
  }

  /** Warns of a server that may delete keys, if the user may read `INFO memory`. */
  async warning(): Promise<string | undefined> {
    return evictionWarning(await this.#connection.connected(), this.label);
  }

  reconnect(): Promise<void> {
    return this.#connection.reconnect();
  }

  nameProblem(name: string): string | undefined {
    try {
      this.#commands.keys(name);
      return undefined;
    } catch (error) {
      return (error as SchedulerLockConfigError).problems.join(' ');
    }
  }

  /** Why names cannot have locks side by side: `key` gives them one key, or none. @internal */
  sharedKeys(names: Iterable<string>): string[] {
    return sharedKeys(names, this.#commands.key, this.#commands.own);
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return new Promise((answered, failed) => this.fastPort.acquire(request, { answered, failed }));
  }

  release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    return new Promise((answered, failed) => this.fastPort.release(lease, options, { answered, failed }));
  }

  pause(name: string, pause: NewPause): Promise<Pause> {
    return this.#pauses.ask(name, pauseArguments(pause));
  }

  resume(name: string, { id }: Pick<Pause, 'id'>): Promise<boolean> {
    return this.#resumes.ask(name, [String(id)]);
  }

  /** @internal */
  readonly fastPort: FastPort = {
    standsFor: METHODS,
    acquire: (request, told) => {
      if (request.wait !== undefined) return this.#wait(request, request.wait, told);
      const { name, brief = false } = request;
      // A client of a Cluster may read from replicas, which can lag behind.
      this.#acquires.call(
        name,
        acquireArguments(request),
        told,
        brief && !this.partitioned ? LOOK_FIRST : undefined,
      );
    },
    release: (lease, options, told) => {
      if (lease.wait !== undefined && options.outcome === NOTHING_RAN) return this.#leave(lease, told);
      const kept = this.history.recording(lease, options, told);
      const ending = this.queuedCalls.end(lease, options.outcome ?? 'completed');
      const giveBack = (): void => this.#releases.call(lease.name, releaseArguments(lease, options), kept);
      if (ending === undefined) return giveBack();
      void ending.then(giveBack, kept.failed.bind(kept));
    },
  };

  /**
   * Receives hints by pub/sub, on a connection of its own: a copy of your client, or another client of the store. Without the right to
   * subscribe, calls in line ask more often.
   */
  hints(process: string, called: (token: string) => void): HintChannel {
    const channels = [this.#channels + process, this.#channels + LOOK_FOR_QUEUED];
    return new Hints(() => this.#connection.another(), channels, called);
  }

  #wait(request: AcquireRequest, wait: WaitRequest, told: Caller<AcquireResult>): void {
    const { name, token, ttl, holder, job = '', history = false, through = false } = request;
    const { process, limit, priority, place = '', notBefore = '', drains = false } = wait;
    const stands = place !== '' && drains ? drainingAt(place) : place;
    const more = [this.#channels + process, limit, priority, stands, notBefore].map(String);
    more.push(...flags(history, through));
    this.#waits.call(name, [token, String(ttl), holder, job, startArgument(request), ...more], told);
  }

  /** Takes a call out of line, and then releases the lease that it may have been granted, which calls the next one. */
  #leave({ wait: _wait, ...lease }: LeaseRef, told: Caller<ReleaseResult>): void {
    const answered = (): void => this.fastPort.release(lease, { outcome: NOTHING_RAN }, told);
    this.#leaves.call(lease.name, [lease.token], {
      answered,
      failed: (error) => told.failed(error),
      limit: told.limit,
      get givenUp() {
        return told.givenUp === true;
      },
    });
  }

  extend(leases: readonly LeaseRef[], options: ExtendOptions = {}): Promise<ExtendResult[]> {
    return this.#renewals.extend(leases, options);
  }

  /**
   * Sends two commands for up to 50 of these names, and one more where there are dead letters. Without names it finds the locks by SCAN, which takes many commands if there are many keys.
   *
   * @throws SchedulerLockConfigError if the names cannot be read from the keys that the option `key` gives
   * @throws StoreUnavailableError if Redis does not answer, or refuses (the user may also need `+scan +hgetall`)
   */
  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const infos = await this.#looks.at(names);
    const shown = await this.queuedCalls.shown(infos.map(({ name }) => name));
    return infos.map((info) => ({ ...info, ...shown(info.name) }));
  }

  /** What a miss is judged by. */
  async #starts(name: string) {
    const [info] = await this.#looks.at([name]);
    const { time: now = 0, state, job, jobs = [] } = info ?? {};
    return {
      now,
      running: state === 'held' ? job : undefined,
      starts: new Map(jobs.map((each) => [each.job, each])),
    };
  }

  onAvailable(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  /** Writes the records of ended runs that still wait. Closes the client that the store itself has made, never yours. */
  async close(): Promise<void> {
    await noLongerThan(CLOSE_LIMIT, this.history.flush(), this.#connection.clock);
    await this.#connection.close();
  }
}

/** The original methods, before any wrapper replaces them. */
const METHODS = { acquire: RedisLockStore.prototype.acquire, release: RedisLockStore.prototype.release };
