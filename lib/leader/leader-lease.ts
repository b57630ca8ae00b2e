import type { AcquiredLock } from '../lease/acquired-lock.js';
import type { Abortable, Lock } from '../lease/current-lock.js';

/** What an election needs of the lock that it has taken. */
export interface LeaderGrant extends AcquiredLock {
  /** Whether it is still held, judged by the clock at this moment. */
  readonly live: boolean;
}

/**
 * What a leader sees of its lease. It ends when the lease is lost, and before that when the leader is to stop: then the
 * lease itself is kept until the leader's work has been wound up, so that nobody else begins before.
 */
export class LeaderLease implements Lock, Abortable {
  readonly job = undefined;
  readonly tick = undefined;
  readonly attempt = 1;
  readonly #controller = new AbortController();
  /** Leases of jobs that run because this instance leads. */
  readonly #followers = new Set<Abortable>();
  #reason: Error | undefined;

  constructor(private readonly grant: LeaderGrant) {}

  get name(): string {
    return this.grant.name;
  }

  get holder(): string {
    return this.grant.holder;
  }

  get fencingToken(): number | undefined {
    return this.grant.fencingToken;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether this instance leads, judged by the clock at this moment. */
  get live(): boolean {
    return this.#reason === undefined && this.grant.live;
  }

  assertLocked(): void {
    if (this.#reason === undefined) this.grant.assertLocked();
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Tells everybody to stop who works under this lease. The first reason stands. */
  abort(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const follower of this.#followers) follower.abort(reason);
    this.#controller.abort(reason);
  }

  /** @returns a function that takes it back */
  follow(follower: Abortable): () => void {
    if (this.#reason !== undefined) follower.abort(this.#reason);
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }
}
