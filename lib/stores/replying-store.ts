import type {
  AcquireRequest,
  AcquireResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from './lock-store.js';

/**
 * An answer that is under way. Who calls `tell` is told of the one or the other, once, and not before it has returned. It may be
 * called several times; the first time in the turn in which the reply was made, or a rejection goes unhandled.
 *
 * Not a promise, of which each one more is a part of each run's cost.
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

/** What a store of this library may have besides: its calls of each run, `acquire` and `release`, without promises. */
export interface ReplyingStore {
  /** The methods that the replies stand for: where somebody has put others in their place, those are to be called. */
  readonly standsFor: Pick<LockStore, 'acquire' | 'release'>;
  replyToAcquire(request: AcquireRequest): Reply<AcquireResult>;
  replyToRelease(lease: LeaseRef, options?: ReleaseOptions): Reply<ReleaseResult>;
}

export const isReplying = (store: LockStore): store is LockStore & ReplyingStore =>
  'replyToAcquire' in store && 'replyToRelease' in store;
