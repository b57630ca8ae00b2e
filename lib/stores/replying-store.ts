import type {
  AcquireRequest,
  AcquireResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from './lock-store.js';

/**
 * A pending answer. `tell` calls exactly one of its two callbacks, once, and never before `tell` has returned. It may be called
 * several times. The first call has to come in the turn in which the reply was made, or a rejection goes unhandled.
 *
 * Not a promise: each further promise adds to the cost of each run.
 */
export interface Reply<T> {
  tell(answered: (value: T) => void, failed: (error: Error) => void): void;
}

/** A reply as a promise. */
export function promiseOf<T>(reply: Reply<T>): Promise<T> {
  return new Promise((answered, failed) => reply.tell(answered, failed));
}

/** A promise as a reply. */
export function replyOf<T>(promise: Promise<T>): Reply<T> {
  return { tell: (answered, failed) => void promise.then(answered, failed) };
}

/** What a store of this library may offer in addition: `acquire` and `release`, which each run calls, without promises. */
export interface ReplyingStore {
  /**
   * The methods that the replies stand for. If other methods have replaced them (a spy, a wrapper), the caller has to use those.
   */
  readonly standsFor: Pick<LockStore, 'acquire' | 'release'>;
  replyToAcquire(request: AcquireRequest): Reply<AcquireResult>;
  replyToRelease(lease: LeaseRef, options?: ReleaseOptions): Reply<ReleaseResult>;
}

export const isReplying = (store: LockStore): store is LockStore & ReplyingStore =>
  'replyToAcquire' in store && 'replyToRelease' in store;
