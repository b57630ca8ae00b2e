/*
 * lib/lock/access: the one way to a store: each call has a time limit, its answer is checked, and failures become outages with a
 * beginning and an end.
 * May not enter: leases, and what a caller does without an answer.
 */
import { StoreUnavailableError } from '../../base/errors.js';
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
import type {
  Enqueued,
  QueuedCallStore,
  NewQueuedCall,
  NextOptions,
  NextResult,
} from '../../contract/queued-call-store.js';
import { fastPortOf, type Caller } from '../../contract/fast-port.js';
import { Asked } from './asked.js';
import {
  type Wrong,
  wrongAcquire,
  wrongBatch,
  wrongExtend,
  wrongObject,
  wrongRelease,
} from './answer-checks.js';
import type { TimeLimits } from './time-limits.js';

/** What the log calls a store: its label, or the name of its class. */
export function storeLabel(store: LockStore): string {
  const { label, constructor: { name } = Object } = store;
  return label ?? (name === '' || name === Object.name ? 'a store without a name' : name);
}

/** How much of a wrong value a message shows at most, characters. */
const MAX_SHOWN = 60;

/**
 * Calls of a store that answer in a later turn, and with what the contract lists: any other answer counts as a failure,
 * and so does a call that throws. `acquire` and `release` have a limit.
 */
export class SafeStore {
  #reconnecting: Promise<void> | undefined;

  constructor(
    private readonly store: LockStore,
    private readonly limits: TimeLimits,
  ) {
    if (store.reconnect !== undefined) limits.onSilence = (silence) => void this.reconnect(silence);
  }

  /**
   * Has the store give up connections that do not answer. Never rejects. Resolves when calls can be sent again, as far as is known.
   *
   * @param silence milliseconds without an answer; `undefined` if a connection broke
   */
  reconnect(silence?: number): Promise<void> {
    return (this.#reconnecting ??= this.#reconnect(silence).finally(() => (this.#reconnecting = undefined)));
  }

  async #reconnect(silence: number | undefined): Promise<void> {
    try {
      await this.store.reconnect?.(silence);
    } catch {
      // The next call finds out.
    }
  }

  /** @param sentAt now, monotonic */
  acquire(request: AcquireRequest, limit: number, sentAt: number): Asked<AcquireResult> {
    const asked = new Asked<AcquireResult>(this.limits, limit, sentAt);
    const port = fastPortOf(this.store);
    if (port !== undefined) port.acquire(request, asked);
    else void this.#ask('acquire', () => this.store.acquire(request), wrongAcquire, asked);
    return asked;
  }

  /** @param sentAt now, monotonic */
  release(lease: LeaseRef, options: ReleaseOptions, limit: number, sentAt: number): Asked<ReleaseResult> {
    const asked = new Asked<ReleaseResult>(this.limits, limit, sentAt);
    const port = fastPortOf(this.store);
    if (port !== undefined) port.release(lease, options, asked);
    else void this.#ask('release', () => this.store.release(lease, options), wrongRelease, asked);
    return asked;
  }

  /** @param sentAt now, monotonic */
  next(lease: LeaseRef, options: NextOptions, limit: number, sentAt: number): Asked<NextResult> {
    return this.#ofQueuedCalls(
      'next',
      (queuedCalls) => queuedCalls.next(lease, { ...options, limit }),
      limit,
      sentAt,
    );
  }

  /** @param sentAt now, monotonic */
  enqueue(queuedCall: NewQueuedCall, limit: number, sentAt: number): Asked<Enqueued> {
    return this.#ofQueuedCalls(
      'enqueue',
      (queuedCalls) => queuedCalls.enqueue(queuedCall, { limit }),
      limit,
      sentAt,
    );
  }

  #ofQueuedCalls<T extends object>(
    call: string,
    send: (queuedCalls: QueuedCallStore) => Promise<T>,
    limit: number,
    sentAt: number,
  ): Asked<T> {
    const asked = new Asked<T>(this.limits, limit, sentAt);
    void this.#ask(call, () => send(this.store.queuedCalls), wrongObject, asked);
    return asked;
  }

  /** Asks by a promise. A store that a user has written may answer anything. */
  async #ask<T>(
    call: string,
    send: () => Promise<T>,
    check: (result: T) => Wrong | undefined,
    told: Caller<T>,
  ): Promise<void> {
    let result: T;
    try {
      result = await send();
      const wrong = check(result);
      if (wrong !== undefined) throw this.#misanswered(call, wrong);
    } catch (error) {
      return told.failed(error instanceof Error ? error : this.#threw(call));
    }
    told.answered(result);
  }

  async extend(leases: readonly LeaseRef[], options: ExtendOptions): Promise<ExtendResult[]> {
    const results = await this.store.extend(leases, options);
    const wrong = wrongBatch(results, leases.length);
    if (wrong !== undefined) throw this.#misanswered('extend', wrong);
    return Array.from(results, (result, index) => {
      const one = wrongExtend(result, index);
      return one === undefined ? result : { held: null, error: this.#misanswered('extend', one) };
    });
  }

  /** An error without what the call has thrown: that may be anything. */
  #threw(call: string): StoreUnavailableError {
    return new StoreUnavailableError(
      `The store (${storeLabel(this.store)}) failed ${call}() with something that is no error.`,
      { outcome: 'unknown' },
    );
  }

  /**
   * The outcome is unknown: the store may have carried the call out. It counts as refused: the store answers like this until it is
   * repaired.
   */
  #misanswered(call: string, { field, value, expected }: Wrong): StoreUnavailableError {
    return new StoreUnavailableError(
      `The store (${storeLabel(this.store)}) answered ${call}()${field} = ${shown(value)}, expected ${expected}: see LockStore.`,
      { outcome: 'unknown', refused: true },
    );
  }
}

/** A wrong value and its type, shortened. */
function shown(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  if (typeof value === 'function') return 'a function';
  // oxlint-disable-next-line typescript/no-base-to-string -- objects and functions are shown above
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text} (${typeof value})`;
}
