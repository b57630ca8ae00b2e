import type { Duration } from './duration.js';
import type { RevokedReason } from './errors.js';
import type { Lock } from './lease/current-lock.js';

/** What a class with `@LeaderElection()` does when its instance begins and ceases to lead. */
export interface LeaderHooks {
  /**
   * This instance leads from now on. Start what one instance is to do, and end it when `lease.signal` aborts. If it throws,
   * the instance resigns.
   *
   * @param lease the leader's lease; also `currentLock()`. Hand its fencing token to what you write to
   */
  onElected(lease: Lock): void | Promise<void>;
  /**
   * This instance leads no longer; `lease.signal` has aborted. Stop at once what `onElected()` has started: after a loss
   * another instance may lead within milliseconds. It can be called while `onElected()` has not ended yet.
   *
   * After `resigned`, `shutdown` and `failed` the lease is kept until this has ended, for `shutdownTimeout` at most (a
   * shutdown leaves it to expire then).
   * This instance leads again only when both hooks have ended.
   *
   * @param reason why
   */
  onRevoked(reason: RevokedReason): void | Promise<void>;
}

/** Options of `@LeaderElection()`. */
export interface LeaderElectionOptions {
  /**
   * How long the leader's lease lives without a renewal: how long a dead leader is missed. The others ask once in a
   * third of it.
   *
   * @default the module's `ttl`
   */
  readonly ttl?: Duration | undefined;
}

/** `forRoot({ leader })`: one instance runs all scheduled jobs. */
export interface LeaderOptions extends LeaderElectionOptions {
  /** Name of the election, and of the leader's lock. */
  readonly name: string;
}

/** What `@LeaderElection()` noted about a class, as it was given. */
export interface DeclaredElection {
  readonly name: unknown;
  readonly options: LeaderElectionOptions;
}

const declared = new WeakMap<object, DeclaredElection>();

/**
 * Makes a provider take part in an election: over the whole fleet, one instance of it leads. Its `onElected()` and
 * `onRevoked()` are called as this instance's turn comes and goes.
 *
 * @param name of the election, and of the leader's lock
 * @param options wrong ones are reported when the application starts
 */
export function LeaderElection(
  name: string,
  options: LeaderElectionOptions = {},
): (target: abstract new (...args: never[]) => LeaderHooks) => void {
  return (target) => void declared.set(target, { name, options });
}

/** The election that the class of an instance, or the next one above it, takes part in. */
export function declaredElection(type: unknown): DeclaredElection | undefined {
  for (let current = type; typeof current === 'function'; current = Object.getPrototypeOf(current)) {
    const election = declared.get(current);
    if (election !== undefined) return election;
  }
  return undefined;
}
