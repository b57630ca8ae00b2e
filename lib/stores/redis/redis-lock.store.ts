import { systemClock } from '../../clock.js';
import { randomUUID } from 'node:crypto';
import {
  LockStateError,
  SchedulerLockConfigError,
  type SchedulerLockError,
  StoreUnavailableError,
} from '../../errors.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../lock-store.js';
import { hashTag, stateKey } from './keys.js';
import { RedisReplyError, runScript, type RedisClient } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { ACQUIRE, EXTEND, PROBE, RELEASE, type Script } from './scripts.js';

/** The most leases that one script renews: a script over 1,000 keys blocks Redis for about 2 ms. */
const MAX_BATCH = 250;

/** The part of a call's limit that one node of a Cluster may take: the answers of the others are still in time. */
const NODE_SHARE = 0.8;

export interface RedisLockStoreOptions {
  /** Redis key of a lock. Different names need different keys. */
  readonly key: (name: string) => string;
}

type Batch = { readonly index: number; readonly lease: LeaseRef }[];

/** Leases in Redis: on a single server, behind Sentinel, or on a Cluster. */
export class RedisLockStore implements LockStore {
  readonly #connection: RedisConnection;
  readonly #key: (name: string) => string;

  constructor(connection: RedisConnection, options: RedisLockStoreOptions) {
    this.#connection = connection;
    this.#key = options.key;
  }

  async init(): Promise<void> {
    await this.#connection.open();
    // No lock has this name, so the keys are nobody's.
    const keys = this.#keys(`probe-${randomUUID()}`);
    let denied: unknown;
    try {
      denied = await runScript(this.#client, PROBE, keys.length, keys);
    } catch (error) {
      if (error instanceof RedisReplyError && /NOPERM|NOAUTH|WRONGPASS/.test(error.message)) {
        throw new SchedulerLockConfigError([
          `connection: Redis refused the lock scripts: ${error.message}. Give the user the commands and keys that the README lists; ` +
            `the keys tried were "${keys.join('" and "')}".`,
        ]);
      }
      throw this.#failure(error);
    }
    if (!Array.isArray(denied) || denied.length === 0) return;
    throw new SchedulerLockConfigError([
      `connection: the Redis user may not run ${denied.join(', ')}, which the lock scripts need. Give it the commands that the README ` +
        `lists: ACL SETUSER <user> ${denied.map((command) => `+${String(command).toLowerCase()}`).join(' ')}`,
    ]);
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    const { name, token, ttl, holder, job = '' } = request;
    const args = [token, ttl, holder, job];
    if (request.tick !== undefined || request.interval !== undefined) {
      const { tick = '', maxClockSkew = '', schedule = '', interval = '', rerun = '', only = '' } = request;
      args.push(tick, maxClockSkew, schedule, interval, rerun, only);
    }
    return this.#run(ACQUIRE, name, args, readAcquire);
  }

  release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const { outcome = 'completed', keepFor = 0 } = options;
    const { name, token, fencingToken, ttl, holder } = lease;
    return this.#run(RELEASE, name, [token, keepFor, outcome, fencingToken, ttl, holder], readRelease);
  }

  async extend(leases: readonly LeaseRef[], { limit }: ExtendOptions = {}): Promise<ExtendResult[]> {
    const results: ExtendResult[] = Array.from({ length: leases.length });
    const batches = this.#batches(leases);
    const outcomes = await Promise.allSettled(
      batches.map(async (batch) => {
        const call = this.#extendBatch(batch.map(({ lease }) => lease));
        // A node that hangs must not hide what the others answer.
        const replies = await (limit === undefined || batches.length === 1 ? call : answered(call, limit));
        for (const [i, { index, lease }] of batch.entries()) results[index] = this.#judge(lease, replies[i]);
      }),
    );
    const failures = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
    );
    // One failed node must not hide what the others said. If nobody answered, the whole call has failed.
    if (failures.length > 0 && failures.length === batches.length) throw this.#failure(failures[0]);
    for (const index of leases.keys()) {
      results[index] ??= { held: null, error: this.#failure(failures[0]) };
    }
    return results;
  }

  onAvailable(listener: () => void): () => void {
    return this.#connection.onReady(listener);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  get #client(): RedisClient {
    return this.#connection.client();
  }

  /** A Cluster runs a script where its keys are: leases are sent together only if they share a hash tag. */
  #batches(leases: readonly LeaseRef[]): Batch[] {
    const groups = new Map<string, Batch>();
    const full: Batch[] = [];
    const cluster = leases.length > 0 && this.#client.isCluster === true;
    for (const [index, lease] of leases.entries()) {
      const key = this.#connection.keyPrefix + this.#key(lease.name);
      const slot = cluster ? (hashTag(key) ?? key) : '';
      const group = groups.get(slot) ?? [];
      group.push({ index, lease });
      groups.set(slot, group);
      if (group.length === MAX_BATCH) {
        full.push(group);
        groups.delete(slot);
      }
    }
    return [...full, ...groups.values()];
  }

  async #extendBatch(leases: readonly LeaseRef[]): Promise<unknown[]> {
    const keys: string[] = [];
    const args: (string | number)[] = [];
    for (const { name, token, ttl, fencingToken, holder, job = '', tick = '', attempt = '' } of leases) {
      keys.push(...this.#keys(name));
      args.push(token, ttl, fencingToken, holder, job, tick, attempt);
    }
    return (await runScript(this.#client, EXTEND, keys.length, [...keys, ...args])) as unknown[];
  }

  /** One function from call to result: each asynchronous step in between costs as much as a command's argument. */
  async #run<T>(
    script: Script,
    name: string,
    args: (string | number)[],
    read: (reply: unknown) => T,
  ): Promise<T> {
    try {
      args.unshift(...this.#keys(name));
      return read(await runScript(this.#client, script, 2, args));
    } catch (error) {
      throw error instanceof RedisReplyError ? this.#refusal(name, error) : this.#failure(error);
    }
  }

  #keys(name: string): [lock: string, state: string] {
    const lock = this.#key(name);
    return [lock, stateKey(lock, this.#connection.keyPrefix)];
  }

  /** Reads what the script answered for one lease. */
  #judge({ name }: LeaseRef, reply: unknown): ExtendResult {
    if (!Array.isArray(reply)) {
      const verdict = Number(reply);
      if (verdict === 0) return { held: false, reason: 'expired' };
      return verdict === 2 ? { held: true, restored: true } : { held: true };
    }
    const [holder = '', message] = reply as [string, string?];
    if (message !== undefined)
      return { held: null, error: this.#refusal(name, new RedisReplyError(message)) };
    return { held: false, reason: 'taken', ...(holder === '' ? undefined : { holder }) };
  }

  /** Whether Redis refused a call because of what is kept for this lock, or for a reason of its own. */
  #refusal(name: string, cause: RedisReplyError): SchedulerLockError {
    const ofLock = /WRONGTYPE|fencing token of/.test(cause.message);
    return ofLock ? this.#stateError(name, cause) : this.#failure(cause);
  }

  #stateError(name: string, cause: RedisReplyError): LockStateError {
    const [lock, state] = this.#keys(name).map((key) => `"${this.#connection.keyPrefix}${key}"`);
    return new LockStateError(
      name,
      `Redis refused the call: ${cause.message}. Look at the keys ${lock} (a string) and ${state} (a hash): ` +
        'something else wrote there. Delete what does not belong, or change `keyPrefix` or `key`.',
    );
  }

  /** What a caller is told of a call that failed as a whole. */
  #failure(error: unknown): SchedulerLockError {
    return error instanceof RedisReplyError
      ? new StoreUnavailableError(`Redis refused the call: ${error.message}`, { outcome: 'not-applied' })
      : (error as SchedulerLockError);
  }
}

/** Reads what the script answered to an attempt. */
/** The same as `call`, but rejects if there is no answer in time for the others of its batch. */
async function answered<T>(call: Promise<T>, limit: number): Promise<T> {
  let giveUp!: (error: Error) => void;
  const tooLate = new Promise<never>((_resolve, reject) => (giveUp = reject));
  const message = `A node of the Redis Cluster did not answer within ${Math.round(limit)} ms.`;
  const timer = systemClock.setTimer(
    () => giveUp(new StoreUnavailableError(message, { outcome: 'unknown' })),
    limit * NODE_SHARE,
  );
  try {
    return await Promise.race([call, tooLate]);
  } finally {
    timer.cancel();
  }
}

function readAcquire(reply: unknown): AcquireResult {
  if (!Array.isArray(reply)) return { acquired: true, fencingToken: Number(reply) };
  const [reason, second, third, detail, outcome] = reply as [
    AcquireRefusal['reason'] | '',
    string,
    string,
    string,
    string,
  ];
  if (reason === '') {
    const attempt = Number(third);
    const granted = { acquired: true, fencingToken: Number(second), attempt } as const;
    return detail === '' ? granted : { ...granted, previousSchedule: detail };
  }
  return {
    acquired: false,
    reason,
    ...(second === '' ? undefined : { holder: second }),
    // -1: a key without an expiry, put there by somebody else.
    ...(Number(third) < 0 ? undefined : { expiresIn: Number(third) }),
    ...(reason === 'clock-skew' ? { storeTime: Number(detail) } : undefined),
    ...(outcome === ''
      ? undefined
      : { tick: Number(detail), finished: outcome !== '-' && outcome !== 'aborted' }),
  };
}

function readRelease(reply: unknown): ReleaseResult {
  switch (Number(reply)) {
    case 1:
      return { released: true };
    case 2:
      return { released: false, reason: 'ended' };
    case 0:
      return { released: false, reason: 'expired' };
    default:
      return { released: false, reason: 'taken' };
  }
}
