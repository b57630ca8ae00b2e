import { AsyncLocalStorage } from 'node:async_hooks';
import { LockLostError, LockNotHeldError } from '../base/errors.js';
import type { Report } from '../contract/history-store.js';
import { shared } from '../base/shared.js';
import type { Lease } from './lease.js';
import type { QueuedCallFacts } from './lock-call.js';
import { reported } from './report.js';

/** The lock that a job runs under. */
export interface Lock {
  /** Name of the lock. */
  readonly name: string;
  /** Identity of the job, if the lock was taken for one. */
  readonly job: string | undefined;
  /** Instance id of this process. */
  readonly holder: string;
  /**
   * Grows with every lease of this lock. Hand it to each resource that the job writes to, and let the resource refuse every
   * token smaller than the greatest it has seen. Then even a job that was frozen past its lease writes nothing late.
   *
   * `undefined` only if the store failed and the job runs without its lock, by `onStoreError: 'run'`.
   */
  readonly fencingToken: number | undefined;
  /** Scheduled fire time that the run belongs to, epoch milliseconds; `undefined` for a call by hand. */
  readonly tick: number | undefined;
  /** Which run of the tick this is, from 1. */
  readonly attempt: number;
  /** How long the call stood in line, milliseconds; 0 if it did not. */
  readonly waited: number;
  /** The queued call that the job runs for; `undefined` if its call was not queued (`onHeld: 'queue'`). */
  readonly queuedCall: QueuedCallFacts | undefined;
  /**
   * Aborts when the job should stop, with the reason: `LockLostError`, `LockTimeoutError`, `LockShutdownError` or, under a
   * leader, `LockResignedError`. In a nested call that its outer job did not await: `LockNotHeldError`. Pass it on to
   * `fetch`, database drivers and timers.
   */
  readonly signal: AbortSignal;
  /**
   * Says what the run has done, such as `{ invoices: 120 }`: up to eight names, with finite numbers or texts of at most 100 characters. A later
   * value of a name replaces an earlier one. Kept with the record of the run, and shown beside it: put no secrets in.
   *
   * @throws SchedulerLockConfigError for anything else; then nothing of it is kept
   * @throws LockNotHeldError if the job has ended
   */
  report(values: Report): void;
  /**
   * Call it before a step that must not happen twice. It compares the lease with the clock at this moment, and does not rely on a timer.
   *
   * @throws LockLostError if the lease was lost
   * @throws LockNotHeldError if the job has ended, or runs without its lock by `onStoreError: 'run'`
   */
  assertLocked(): void;
}

export interface Scope {
  /** The runner that the lock belongs to: two applications in one process share nothing. */
  readonly owner: object;
  readonly lock: Lock;
  /** While this lease is live, calls for the same lock run inside it. */
  readonly lease?: Lease;
  /** Whether the lock is that of a leader: a lease that is taken inside aborts together with it. */
  readonly leads?: boolean;
  /** Whether the nested call that the scope was made for has ended, though its lease has not. */
  closed?: boolean;
  parent: Scope | undefined;
}

export type LeasedScope = Scope & { readonly lease: Lease };

const scopes = shared('scopes', () => new AsyncLocalStorage<Scope | undefined>());

/** Runs `job` in the context of its lock. */
export function withScope<T>(
  owner: object,
  lock: Lock,
  lease: Lease | undefined,
  job: (lock: Lock) => T | PromiseLike<T>,
): T | Promise<T> {
  const parent = open(scopes.getStore());
  return scopes.run(
    lease === undefined ? { owner, lock, parent } : { owner, lock, lease, parent },
    invoke,
    job,
    lock,
  );
}

/** Runs `callback` in this scope alone: timers inherit the context in which they were set. */
export function withRootScope<T>(scope: Omit<Scope, 'parent'>, callback: () => T): T {
  return scopes.run({ ...scope, parent: undefined }, callback);
}

/** Runs `job` inside a lease that the caller holds, whose lock is the current one again. If the lease ends first, its signal aborts. */
export async function withinScope<T>(
  { owner, lock, lease }: LeasedScope,
  job: (lock: Lock) => T | PromiseLike<T>,
): Promise<T> {
  const scope: Scope = { owner, lock, lease, parent: open(scopes.getStore()) };
  lease.inner += 1;
  try {
    return await scopes.run(scope, invoke, job, lock);
  } finally {
    lease.inner -= 1;
    scope.closed = true;
  }
}

/** Runs a scheduled call outside of the lock under which its timer was started, but inside of its leader's scope. */
export function outsideOfLocks<T>(callback: () => T): T {
  const scope = scopes.getStore();
  return scope === undefined || scope.leads === true ? callback() : scopes.run(undefined, callback);
}

/** The innermost scope around the caller with a live lease of this lock, if any. */
export function findScope(owner: object, name: string): LeasedScope | undefined {
  for (let scope = scopes.getStore(); scope !== undefined; scope = scope.parent)
    if (scope.lock.name === name && isHeld(scope, owner)) return scope;
  return undefined;
}

export function heldLocks(owner: object): string[] {
  const names: string[] = [];
  for (let scope = scopes.getStore(); scope !== undefined; scope = scope.parent)
    if (isHeld(scope, owner)) names.push(scope.lock.name);
  return names;
}

const isHeld = (scope: Scope, owner: object): scope is LeasedScope =>
  scope.owner === owner && scope.lease?.live === true;

/** The innermost scope that is not over. Drops those that are over: a job that arms its own next run would keep those of all its runs. */
function open(innermost: Scope | undefined): Scope | undefined {
  let scope = innermost;
  while (scope !== undefined && (scope.closed === true || scope.lease?.over === true)) scope = scope.parent;
  if (scope?.parent !== undefined) scope.parent = open(scope.parent);
  return scope;
}

/** Runs `job`, whose own scope is the innermost. Its lease aborts together with that of each leader around it. */
export async function following<T>(job: (lock: Lock) => T | PromiseLike<T>, lock: Lock): Promise<T> {
  const { lease, parent } = scopes.getStore() ?? {};
  const ended = new AbortController();
  for (let outer = parent; lease !== undefined && outer !== undefined; outer = outer.parent) {
    if (outer.leads !== true) continue;
    const { signal } = outer.lock;
    const abort = (): void => lease.abort(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { signal: ended.signal });
  }
  try {
    return await invoke(job, lock);
  } finally {
    ended.abort();
  }
}

/**
 * The lock that the calling code runs under: the innermost one, if jobs are nested.
 *
 * @throws LockNotHeldError outside of a job
 */
export function currentLock(): Lock {
  const scope = scopes.getStore();
  if (scope !== undefined) return scope.lock;
  throw new LockNotHeldError(
    'currentLock() was called outside of a lock. Call it inside a method with @SchedulerLock(), inside the ' +
      'function given to SchedulerLockService.run(), or, in a unit test, inside runUnlocked().',
  );
}

/** `currentLock().assertLocked()`. @throws LockLostError, or LockNotHeldError, also outside of a job */
export function assertLocked(): void {
  currentLock().assertLocked();
}

/** The job's view of its lease. */
export class LeasedLock implements Lock {
  readonly job: string | undefined;
  readonly holder: string;
  readonly fencingToken: number | undefined;
  readonly tick: number | undefined;
  readonly attempt: number;
  readonly waited: number;
  readonly queuedCall: QueuedCallFacts | undefined;

  constructor(protected readonly lease: Lease) {
    const { ref, confirmed } = lease;
    ({ waited: this.waited, queuedCall: this.queuedCall } = lease);
    ({ job: this.job, holder: this.holder, tick: this.tick, attempt: this.attempt = 1 } = ref);
    this.fencingToken = confirmed ? ref.fencingToken : undefined;
  }

  get name(): string {
    return this.lease.ref.name;
  }

  get signal(): AbortSignal {
    return this.lease.signal;
  }

  /** Whether no caller waits for its run: a schedule fired the job, or the call was queued. @internal */
  get isOwnStory(): boolean {
    return this.lease.cause.origin !== undefined;
  }

  /** The trace that its run belongs to: kept with the record of the run. @internal */
  set traceId(id: string) {
    this.lease.traceId = id;
  }

  report(values: Report): void {
    if (this.lease.hasEnded) throw jobEnded(this.name);
    this.lease.report = reported(this.lease.report, values);
  }

  assertLocked(): void {
    const { live, confirmed, lostReason, abortReason } = this.lease;
    if (live && confirmed) return;
    if (abortReason instanceof LockLostError) throw abortReason;
    if (lostReason !== undefined) throw new LockLostError(this.name, lostReason);
    if (confirmed) throw jobEnded(this.name);
    throw new LockNotHeldError(
      `Lock "${this.name}" is not held: the store failed, and the job runs without it because onStoreError is "run".`,
      this.name,
    );
  }
}

/** The error for code that goes on after its job has ended. */
export const jobEnded = (name: string): LockNotHeldError =>
  new LockNotHeldError(`Lock "${name}" is not held any more: its job has ended.`, name);

/**
 * Begins a job. Starts lazy work (queries of Knex, Mongoose, Prisma) at once: so it runs in the async context of the job,
 * not in that of the code that awaits it.
 */
export function invoke<A, T>(job: (given: A) => T | PromiseLike<T>, given: A): T | Promise<T> {
  const work = job(given);
  const then = (work as { then?: unknown } | null | undefined)?.then;
  if (typeof then !== 'function' || then === Promise.prototype.then) return work as T | Promise<T>;
  return new Promise((resolve, reject) => void (work as PromiseLike<T>).then(resolve, reject));
}

/** A lock that was taken without a job around it. Ends with `release()`, or with the scope of `await using`. */
export interface AcquiredLock extends Lock, AsyncDisposable {
  /** Releases the lease, once. Does not reject if the store does not answer: it is tried again, and the lease expires by itself. */
  release(): Promise<void>;
}

/** Stands in for the job of an {@link AcquiredLock}: it lasts until it is released. */
export class LockHandle extends LeasedLock implements AcquiredLock {
  /** Resolves when the user calls `release()`. */
  readonly released: Promise<void>;
  /** Resolves when the run is over: the store has answered the release, or did not in time. */
  finished: Promise<unknown> | undefined;
  #let!: () => void;

  constructor(lease: Lease) {
    super(lease);
    this.released = new Promise((resolve) => (this.#let = resolve));
  }

  /** Whether the lock is still held, judged by the clock at this moment. */
  get live(): boolean {
    return this.lease.live;
  }

  async release(): Promise<void> {
    this.#let();
    await this.finished;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
