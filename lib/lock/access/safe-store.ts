/*
 * lib/lock/access: the one way to a store: each call has a time limit, and failures become outages with a
 * beginning and an end.
 * May not enter: leases, and what a caller does without an answer.
 */
import { LockStateError, SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../../contract/lock-store.js';
import type { Enqueued, NewQueuedCall, NextOptions, NextResult } from '../../contract/queued-call-store.js';
import type { Caller, FastPort } from '../../contract/fast-port.js';
import type { Limited, TimeLimits } from './time-limits.js';

/** What the log calls a store: its label, or the name of its class. */
export function storeLabel(store: LockStore): string {
  const { label, constructor: { name } = Object } = store;
  return label ?? (name === '' || name === Object.name ? 'a store without a name' : name);
}

/** Calls of a store that answer in a later turn, each within its limit; one that throws has failed. */
export class SafeStore {
  #reconnecting: Promise<void> | undefined;

  constructor(
    private readonly store: LockStore,
    private readonly limits: TimeLimits,
  ) {
    if (store.reconnect !== undefined) limits.onSilence = (silence) => void this.reconnect(silence);
  }

  /** Has the store give up connections that do not answer. Never rejects. @param silence ms without an answer; `undefined`: one broke */
  reconnect(silence?: number): Promise<void> {
    // What has failed, the next call finds out.
    return (this.#reconnecting ??= (async () => this.store.reconnect?.(silence))()
      .catch(() => undefined)
      .finally(() => (this.#reconnecting = undefined)));
  }

  /** @param sentAt now, monotonic; so for all calls below */
  acquire(request: AcquireRequest, limit: number, sentAt: number): Asked<AcquireResult> {
    const port = fastPortOf(this.store);
    return port === undefined
      ? this.#ask(() => this.store.acquire(request), limit, sentAt)
      : this.#tell((asked) => port.acquire(request, asked), limit, sentAt);
  }

  release(lease: LeaseRef, options: ReleaseOptions, limit: number, sentAt: number): Asked<ReleaseResult> {
    const port = fastPortOf(this.store);
    return port === undefined
      ? this.#ask(() => this.store.release(lease, options), limit, sentAt)
      : this.#tell((asked) => port.release(lease, options, asked), limit, sentAt);
  }

  next(lease: LeaseRef, options: NextOptions, limit: number, sentAt: number): Asked<NextResult> {
    return this.#ask(() => this.store.queuedCalls.next(lease, { ...options, limit }), limit, sentAt);
  }

  enqueue(queuedCall: NewQueuedCall, limit: number, sentAt: number): Asked<Enqueued> {
    return this.#ask(() => this.store.queuedCalls.enqueue(queuedCall, { limit }), limit, sentAt);
  }

  async extend(leases: readonly LeaseRef[], options: ExtendOptions): Promise<ExtendResult[]> {
    return this.store.extend(leases, options);
  }

  #ask<T>(send: () => Promise<T>, limit: number, sentAt: number): Asked<T> {
    return this.#tell(
      (asked) =>
        void Promise.resolve(send()).then(
          (result) => asked.answered(result),
          (error: unknown) => asked.failed(asError(this.store, error)),
        ),
      limit,
      sentAt,
    );
  }

  #tell<T>(send: (asked: Asked<T>) => void, limit: number, sentAt: number): Asked<T> {
    const asked = new Asked<T>(this.limits, limit, sentAt);
    try {
      send(asked);
    } catch (error) {
      asked.failed(asError(this.store, error));
    }
    return asked;
  }
}

/** What a call of a store has thrown; an error without it if it is none: it may be anything. */
export const asError = (store: LockStore, thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new StoreUnavailableError(
        `The store (${storeLabel(store)}) rejected with something that is no error. Have its methods reject with an Error.`,
        { outcome: 'unknown' },
      );

export type Outcome<T> = { readonly result: T } | { readonly error: Error };

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: Error): boolean {
  return (
    error instanceof LockStateError ||
    error instanceof SchedulerLockConfigError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

export class Asked<T> implements Caller<T>, Limited {
  /** Resolves when the call has ended, or is given up. Never rejects. */
  readonly outcome: Promise<Outcome<T>>;
  /** Whether the call has taken longer than its limit. It may be answered after all. */
  givenUp = false;
  index = 0;
  #end!: (outcome: Outcome<T>) => void;
  #late: ((outcome: Outcome<T>) => void)[] | undefined;
  /** What came after it was given up. */
  #came: Outcome<T> | undefined;

  constructor(
    private readonly limits: TimeLimits,
    readonly limit: number,
    readonly sentAt: number,
  ) {
    this.outcome = new Promise((resolve) => (this.#end = resolve));
    limits.add(this);
  }

  /** `late` receives the outcome if the call was given up. */
  listen(late: (outcome: Outcome<T>) => void): void {
    if (this.#came !== undefined) late(this.#came);
    else (this.#late ??= []).push(late);
  }

  answered(result: T): void {
    this.#ended({ result });
  }

  failed(error: Error): void {
    this.#ended({ error });
  }

  giveUp(error: Error): void {
    this.givenUp = true;
    this.limits.onSilence?.(this.limit);
    this.#end({ error });
  }

  #ended(outcome: Outcome<T>): void {
    if (this.givenUp) {
      this.#came = outcome;
      return this.#late?.forEach((late) => late(outcome));
    }
    this.limits.delete(this);
    this.#end(outcome);
  }
}

/** The fast port of a store, unless somebody has replaced the methods that it stands for: a spy or a wrapper has to be called. */
export function fastPortOf(store: LockStore & { readonly fastPort?: FastPort }): FastPort | undefined {
  const { acquire, release, fastPort } = store;
  if (fastPort === undefined) return undefined;
  const { standsFor } = fastPort;
  return acquire === standsFor.acquire && release === standsFor.release ? fastPort : undefined;
}
