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

/**
 * A store whose calls always answer with a promise, also where somebody else's throws instead, or answers at once. Written
 * out three times, because a closure for each call is a part of each run's cost.
 */
export class AnsweringStore {
  constructor(private readonly store: LockStore) {}

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    try {
      return promised(this.store.acquire(request));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  extend(leases: readonly LeaseRef[], options: ExtendOptions): Promise<ExtendResult[]> {
    try {
      return promised(this.store.extend(leases, options));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  release(lease: LeaseRef, options: ReleaseOptions): Promise<ReleaseResult> {
    try {
      return promised(this.store.release(lease, options));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }
}

const promised = <T>(answer: Promise<T>): Promise<T> =>
  answer instanceof Promise ? answer : Promise.resolve(answer);
