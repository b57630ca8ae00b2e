import type { RevokedReason } from '../../base/errors.js';
import type { Lock } from '../../lock/current-lock.js';
import type { LeaderElectionOptions } from '../options/module-options.js';
import { shared } from '../../base/shared.js';

/** The hooks of a class with `@LeaderElection()`: called when this instance begins to lead, and when it ceases to. */
export interface LeaderHooks {
  /**
   * This instance leads from now on. Start the work that only one instance may do, and end it when `lease.signal` aborts.
   * If this hook throws, the instance resigns.
   *
   * @param lease the leader's lease; also `currentLock()`. Hand its fencing token to the resources that you write to
   */
  onElected(lease: Lock): void | Promise<void>;
  /**
   * This instance leads no longer; `lease.signal` has aborted. Stop the work of `onElected()` at once: after a loss,
   * another instance may lead within milliseconds. This hook may be called before `onElected()` has ended.
   *
   * After `resigned`, `shutdown` and `failed` the lease is kept until this hook has ended, for `shutdownTimeout` at most
   * (after that, a shutdown leaves the lease to expire). This instance leads again only when both hooks have ended.
   *
   * @param reason why this instance leads no longer
   */
  onRevoked(reason: RevokedReason): void | Promise<void>;
}

/** The arguments of `@LeaderElection()` on a class, unchecked. */
export interface DeclaredElection {
  readonly name: unknown;
  readonly options: LeaderElectionOptions;
}

const declared = shared('elections', () => new WeakMap<object, DeclaredElection>());

/**
 * Makes a provider take part in an election: over the whole fleet, one instance of it leads. Its `onElected()` is called
 * when this instance begins to lead, its `onRevoked()` when it ceases to.
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

/** The election that a class, or its nearest base class with one, takes part in. */
export function declaredElection(type: unknown): DeclaredElection | undefined {
  for (let current = type; typeof current === 'function'; current = Object.getPrototypeOf(current)) {
    const election = declared.get(current);
    if (election !== undefined) return election;
  }
  return undefined;
}
