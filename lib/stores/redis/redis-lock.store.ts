import { randomUUID } from 'node:crypto';
import { systemClock, type Timer } from '../../clock.js';
import { LockStateError, SchedulerLockConfigError, StoreUnavailableError } from '../../errors.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  LeaseRef,
  LockInfo,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../lock-store.js';
import { promiseOf, type Reply, type ReplyingStore } from '../replying-store.js';
import { explainDenied, inspectRedis } from './inspect.js';
import { failure, type LeaseCall, LeaseCalls, LeaseScripts } from './lease-scripts.js';
import { PROBE } from './probe.js';
import { RedisReplyError, runScript } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { readAcquire, readExtend, readRelease } from './replies.js';
import { Released } from './released.js';
import { ACQUIRE, ACQUIRE_FREE, EXTEND, RELEASE } from './scripts.js';

/**
 * The part of a call's limit that one node of a Cluster may take: so the answers of the others are still in time.
 */
const NODE_SHARE = 0.8;

export interface RedisLockStoreOptions {
  /** Redis key of a lock. Different names need different keys. */
  readonly key: (name: string) => string;
}

/**
 * Leases in Redis: on a single server, behind Sentinel, or on a Cluster.
 *
 * Attempts that are made in one turn of the event loop go to Redis together, and so do releases. At the full hour, a
 * process with a hundred jobs sends a command or two, not two hundred.
 */
export class RedisLockStore implements LockStore, ReplyingStore {
  readonly standsFor = METHODS;
  readonly #connection: RedisConnection;
  readonly #scripts: LeaseScripts;
  readonly #acquires: LeaseCalls<AcquireResult>;
  readonly #releases: LeaseCalls<ReleaseResult>;
  readonly #released = new Released();

  constructor(connection: RedisConnection, options: RedisLockStoreOptions) {
    this.#connection = connection;
    this.#scripts = new LeaseScripts(connection, options.key);
    this.#acquires = new LeaseCalls(this.#scripts, ACQUIRE, readAcquire);
    this.#releases = new LeaseCalls(this.#scripts, RELEASE, readRelease);
  }

  get label(): string {
    return this.#connection.place;
  }

  get partitioned(): boolean {
    return this.#connection.isCluster;
  }

  async init(): Promise<void> {
    await this.#connection.open();
    // No lock has this name, so its keys are unused.
    const name = `probe-${randomUUID()}`;
    // A `key` function of the user need not support this name.
    if (this.nameProblem(name) !== undefined) return;
    const keys = [...this.#scripts.keys(name)];
    let denied: unknown;
    try {
      denied = await runScript(this.#connection, PROBE, keys.length, keys);
    } catch (error) {
      if (error instanceof RedisReplyError && /NOPERM|NOAUTH|WRONGPASS/.test(error.message)) {
        throw new SchedulerLockConfigError([
          `connection: Redis refused the lock scripts: ${error.message}. Give the user the commands and keys that docs/redis.md lists; ` +
            `the keys tried were "${keys.join('" and "')}".`,
        ]);
      }
      throw failure(error);
    }
    if (!Array.isArray(denied) || denied.length === 0) return;
    throw new SchedulerLockConfigError([
      `connection: the Redis user may not run ${denied.join(', ')}, which the lock scripts need. Give it the commands that docs/redis.md ` +
        `lists: ACL SETUSER <user> ${denied.map((command) => `+${String(command).toLowerCase()}`).join(' ')}`,
    ]);
  }

  nameProblem(name: string): string | undefined {
    try {
      this.#scripts.keys(name);
      return undefined;
    } catch (error) {
      return (error as SchedulerLockConfigError).problems.join(' ');
    }
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return promiseOf(this.replyToAcquire(request));
  }

  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    return promiseOf(this.replyToRelease(lease, options));
  }

  replyToAcquire(request: AcquireRequest): Reply<AcquireResult> {
    const { name, token, ttl, holder, job } = request;
    const start = startOf(request);
    const args = [token, String(ttl), holder];
    if (job !== undefined || start !== '') args.push(job ?? '');
    if (start !== '') args.push(start);
    else if (this.#released.take(name)) return this.#acquires.call(name, args, ACQUIRE_FREE);
    return this.#acquires.call(name, args);
  }

  replyToRelease(lease: LeaseRef, options: ReleaseOptions = {}): Reply<ReleaseResult> {
    const { outcome = 'completed', keepFor = 0 } = options;
    const { name, token, fencingToken, holder, tick, job = '' } = lease;
    this.#released.add(name);
    const args = [token, String(fencingToken)];
    if (keepFor > 0 || outcome !== 'completed' || tick !== undefined) args.push(outcome, job);
    // A lock that stays taken has to show its last holder.
    if (keepFor > 0) args.push(String(keepFor), holder);
    return this.#releases.call(name, args);
  }

  extend(leases: readonly LeaseRef[], { limit }: ExtendOptions = {}): Promise<ExtendResult[]> {
    return new Promise((resolve, reject) => {
      const results: ExtendResult[] = Array.from({ length: leases.length });
      let missing = leases.length;
      let timer: Timer | undefined;
      const settle = (index: number, result: ExtendResult): void => {
        if (results[index] !== undefined) return;
        results[index] = result;
        if ((missing -= 1) > 0) return;
        timer?.cancel();
        // One failed node must not hide the answers of the others. If no node answered, the whole call has failed.
        const first = results[0];
        if (first?.held === null && results.every(isOutage)) reject(first.error);
        else resolve(results);
      };
      const calls = leases.map(
        ({ name, token, ttl, fencingToken, holder, ...run }, index): LeaseCall<ExtendResult> => {
          const { job = '', tick, attempt = 1 } = run;
          const args = [token, String(ttl), String(fencingToken), holder];
          if (tick !== undefined) args.push(`${tick}:${attempt}:${job}`);
          return {
            name,
            args,
            read: readExtend,
            resolve: (result) => settle(index, result),
            reject: (error) => settle(index, { held: null, error }),
          };
        },
      );
      // A node that hangs must not hide the answers of the others.
      const giveUp = (): void => {
        const error = new StoreUnavailableError(
          `A node of the Redis Cluster did not answer within ${Math.round(limit ?? 0)} ms.`,
          { outcome: 'unknown' },
        );
        for (const index of leases.keys()) settle(index, { held: null, error });
      };
      const commands = this.#scripts.many(EXTEND, calls, () => undefined);
      if (leases.length === 0) resolve(results);
      else if (commands > 1 && limit !== undefined && missing > 0) {
        timer = systemClock.setTimer(giveUp, limit * NODE_SHARE);
      }
    });
  }

  /** Finds the locks by SCAN, which takes many commands on a server with many keys. */
  async inspect(): Promise<LockInfo[]> {
    try {
      return await inspectRedis(this.#connection, this.#scripts.key);
    } catch (error) {
      throw failure(explainDenied(error));
    }
  }

  onAvailable(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/** The original methods, before any wrapper replaces them. */
const METHODS: ReplyingStore['standsFor'] = {
  acquire: RedisLockStore.prototype.acquire,
  release: RedisLockStore.prototype.release,
};

/** The argument by which the script judges a start; '' for a call without a tick or an interval. */
function startOf({ tick, maxClockSkew, interval, rerun, only, schedule }: AcquireRequest): string {
  if (tick === undefined && interval === undefined) return '';
  const numbers = [tick, maxClockSkew, tick === undefined ? interval : undefined, rerun, only];
  return `${numbers.map((value) => value ?? '-').join(' ')} ${schedule ?? ''}`;
}

/** Whether a lease was not judged for a reason that is not about its lock alone. */
const isOutage = (result: ExtendResult): boolean =>
  result.held === null &&
  !(result.error instanceof LockStateError || result.error instanceof SchedulerLockConfigError);
