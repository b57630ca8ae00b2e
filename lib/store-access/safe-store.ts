import { StoreUnavailableError } from '../errors.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendOptions,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../stores/lock-store.js';
import { isReplying, type Reply, replyOf, type ReplyingStore } from '../stores/replying-store.js';
import { type Wrong, wrongAcquire, wrongBatch, wrongExtend, wrongRelease } from './answer-checks.js';
import { storeLabel } from './store-label.js';

/** How much of a wrong value a message shows at most, characters. */
const MAX_SHOWN = 60;

/**
 * Wraps a store so that each call answers in a later turn, even if the store throws or answers at once. An answer that the
 * contract does not list counts as a failure. A {@link ReplyingStore} answers without promises.
 */
export class SafeStore {
  readonly #replying: ReplyingStore | undefined;

  constructor(private readonly store: LockStore) {
    this.#replying = isReplying(store) ? store : undefined;
  }

  acquire(request: AcquireRequest): Reply<AcquireResult> {
    const replying = this.#replying;
    try {
      if (replying !== undefined && this.store.acquire === replying.standsFor.acquire)
        return replying.replyToAcquire(request);
      return this.#checked('acquire', promised(this.store.acquire(request)), wrongAcquire);
    } catch (error) {
      return replyOf(Promise.reject(error as Error));
    }
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

  release(lease: LeaseRef, options: ReleaseOptions): Reply<ReleaseResult> {
    const replying = this.#replying;
    try {
      if (replying !== undefined && this.store.release === replying.standsFor.release)
        return replying.replyToRelease(lease, options);
      return this.#checked('release', promised(this.store.release(lease, options)), wrongRelease);
    } catch (error) {
      return replyOf(Promise.reject(error as Error));
    }
  }

  #checked<T>(call: string, answer: Promise<T>, check: (value: T) => Wrong | undefined): Reply<T> {
    return {
      tell: (answered, failed) =>
        void answer.then((value) => {
          let wrong: Wrong | undefined;
          try {
            wrong = check(value);
          } catch (error) {
            return failed(error as Error);
          }
          if (wrong === undefined) answered(value);
          else failed(this.#misanswered(call, wrong));
        }, failed),
    };
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

const promised = <T>(answer: Promise<T>): Promise<T> =>
  answer instanceof Promise ? answer : Promise.resolve(answer);

/** A wrong value and its type, shortened. */
function shown(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  if (typeof value === 'function') return 'a function';
  // oxlint-disable-next-line typescript/no-base-to-string -- objects and functions are shown above
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return `${text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text} (${typeof value})`;
}
