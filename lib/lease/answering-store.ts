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

/**
 * A store whose calls always answer, and in another turn, also where somebody else's throws instead, or answers at once. A
 * store that can, answers without promises.
 */
export class AnsweringStore {
  readonly #replying: ReplyingStore | undefined;

  constructor(private readonly store: LockStore) {
    this.#replying = isReplying(store) ? store : undefined;
  }

  acquire(request: AcquireRequest): Reply<AcquireResult> {
    const replying = this.#replying;
    try {
      if (replying !== undefined && this.store.acquire === replying.standsFor.acquire)
        return replying.replyToAcquire(request);
      return replyOf(promised(this.store.acquire(request)));
    } catch (error) {
      return replyOf(Promise.reject(error as Error));
    }
  }

  extend(leases: readonly LeaseRef[], options: ExtendOptions): Promise<ExtendResult[]> {
    try {
      return promised(this.store.extend(leases, options));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  release(lease: LeaseRef, options: ReleaseOptions): Reply<ReleaseResult> {
    const replying = this.#replying;
    try {
      if (replying !== undefined && this.store.release === replying.standsFor.release)
        return replying.replyToRelease(lease, options);
      return replyOf(promised(this.store.release(lease, options)));
    } catch (error) {
      return replyOf(Promise.reject(error as Error));
    }
  }
}

const promised = <T>(answer: Promise<T>): Promise<T> =>
  answer instanceof Promise ? answer : Promise.resolve(answer);
