import { AsyncLocalStorage } from 'node:async_hooks';
import { LockLostError, LockNotHeldError } from '../errors.js';
import type { Lease } from './lease.js';

/** The lock that a job runs under. */
export interface Lock {
  /** Name of the lock. */
  readonly name: string;
  /** Identity of the job, where the lock was taken for one. */
  readonly job: string | undefined;
  /** Instance id of this process. */
  readonly holder: string;
  /**
   * Grows with every lease of this lock. Hand it to what the job writes to, and have that refuse anything smaller
   * than the greatest it has seen: then even a job that was frozen past its lease writes nothing late.
   *
   * `undefined` only if the store failed and the job runs without its lock, by `onStoreError: 'run'`.
   */
  readonly fencingToken: number | undefined;
  /** Scheduled fire time that the run belongs to, epoch milliseconds; `undefined` for a call by hand. */
  readonly tick: number | undefined;
  /** Which run of the tick this is, from 1. */
  readonly attempt: number;
  /**
   * Aborts when the job should stop, with the reason: `LockLostError`, `LockTimeoutError` or `LockShutdownError`.
   * Pass it on to `fetch`, database drivers and timers.
   */
  readonly signal: AbortSignal;
  /**
   * Call it before a step that must not happen twice. Judged by the clock at this moment, not by a timer.
   *
   * @throws LockLostError if the lease was lost
   * @throws LockNotHeldError if the job has ended, or runs without its lock by `onStoreError: 'run'`
   */
  assertLocked(): void;
}

/** The async context of a job. */
export interface Scope {
  /** Whose lock it is: two applications in one process share nothing. */
  readonly owner: object;
  readonly lock: Lock;
  /** While it is live, calls for the same lock belong inside. */
  readonly lease?: Lease;
  /** Makes a lease that is taken inside abort together with this scope; returns a function that takes it back. */
  readonly follow?: (lease: Abortable) => () => void;
  readonly parent: Scope | undefined;
}

/** What can be told to stop. */
export interface Abortable {
  abort(reason: Error): void;
}

const scopes = new AsyncLocalStorage<Scope>();

/** Runs `job` in the context of its lock. */
export function withScope<T>(owner: object, lock: Lock, lease: Lease | undefined, job: (lock: Lock) => T): T {
  const parent = scopes.getStore();
  const scope: Scope = lease === undefined ? { owner, lock, parent } : { owner, lock, lease, parent };
  return scopes.run(scope, job, lock);
}

/** The same, but outside of whatever scope the caller is in: timers inherit the context in which they were set. */
export function withRootScope<T>(scope: Omit<Scope, 'parent'>, callback: () => T): T {
  return scopes.run({ ...scope, parent: undefined }, callback);
}

/** The open scope of this lock that the caller is in, if any. */
export function findScope(owner: object, name: string): Scope | undefined {
  for (let scope = scopes.getStore(); scope !== undefined; scope = scope.parent) {
    if (scope.owner === owner && scope.lock.name === name && scope.lease?.live) return scope;
  }
  return undefined;
}

/** Runs `job`, whose own scope is the innermost; its lease aborts together with the outer scopes that ask for it. */
export async function following<T>(job: () => T | PromiseLike<T>): Promise<T> {
  const scope = scopes.getStore();
  const stops: (() => void)[] = [];
  for (let outer = scope?.parent; scope?.lease !== undefined && outer !== undefined; outer = outer.parent) {
    if (outer.follow !== undefined) stops.push(outer.follow(scope.lease));
  }
  try {
    return await job();
  } finally {
    for (const stop of stops) stop();
  }
}

/**
 * The lock that the calling code runs under: the innermost one, if jobs are nested.
 *
 * @throws LockNotHeldError outside of a job
 */
export function currentLock(): Lock {
  const scope = scopes.getStore();
  if (scope === undefined) {
    throw new LockNotHeldError(
      'currentLock() was called outside of a lock. Call it inside a method with @SchedulerLock(), inside the ' +
        'function given to SchedulerLockService.run(), or, in a unit test, inside runUnlocked().',
    );
  }
  return scope.lock;
}

/**
 * Throws unless the calling code still has its lock: `currentLock().assertLocked()`.
 *
 * @throws LockLostError if the lease was lost
 * @throws LockNotHeldError outside of a job, after its end, or without its lock by `onStoreError: 'run'`
 */
export function assertLocked(): void {
  currentLock().assertLocked();
}

/** What a job sees of its lease. */
export class LeasedLock implements Lock {
  constructor(protected readonly lease: Lease) {}

  get name(): string {
    return this.lease.ref.name;
  }

  get job(): string | undefined {
    return this.lease.ref.job;
  }

  get holder(): string {
    return this.lease.ref.holder;
  }

  get fencingToken(): number | undefined {
    return this.lease.confirmed ? this.lease.ref.fencingToken : undefined;
  }

  get tick(): number | undefined {
    return this.lease.ref.tick;
  }

  get attempt(): number {
    return this.lease.ref.attempt ?? 1;
  }

  get signal(): AbortSignal {
    return this.lease.signal;
  }

  assertLocked(): void {
    const { live, confirmed, lostReason, abortReason } = this.lease;
    if (live && confirmed) return;
    if (abortReason instanceof LockLostError) throw abortReason;
    if (lostReason !== undefined) throw new LockLostError(this.name, lostReason);
    throw new LockNotHeldError(
      confirmed
        ? `Lock "${this.name}" is not held any more: its job has ended.`
        : `Lock "${this.name}" is not held: the store failed, and the job runs without it because onStoreError is "run".`,
      this.name,
    );
  }
}
