import { AsyncLocalStorage } from 'node:async_hooks';
import { withScope, type Lock } from '../lease/current-lock.js';
import { setBypass } from '../guard.js';

/** What `currentLock()` answers inside {@link runUnlocked}. */
export interface PretendedLock {
  /** @default a signal that never aborts */
  readonly signal?: AbortSignal;
  /** @default 1 */
  readonly fencingToken?: number;
  /** Epoch milliseconds. @default undefined, as in a call by hand */
  readonly tick?: number;
  /** @default 1 */
  readonly attempt?: number;
}

const unlocked = new AsyncLocalStorage<PretendedLock>();
const owner = {};

/**
 * Runs `callback` so that methods with `@SchedulerLock()` that no module has bound run without any lock: for unit
 * tests of what a job does. Inside, `currentLock()` answers a pretended lock, and `assertLocked()` throws only once
 * its signal has aborted.
 *
 * ```ts
 * await runUnlocked(() => new RefreshJobs(api).refresh());
 * ```
 *
 * @returns what `callback` returns
 */
export async function runUnlocked<T>(
  callback: () => T | PromiseLike<T>,
  pretended: PretendedLock = {},
): Promise<T> {
  return unlocked.run(pretended, async () => callback());
}

setBypass((proceed, job) => {
  const pretended = unlocked.getStore();
  if (pretended === undefined) return undefined;
  const { signal = new AbortController().signal, fencingToken = 1, tick, attempt = 1 } = pretended;
  const lock: Lock = {
    name: job,
    job,
    holder: 'unlocked',
    fencingToken,
    tick,
    attempt,
    signal,
    assertLocked: () => signal.throwIfAborted(),
  };
  return Promise.resolve(withScope(owner, lock, undefined, proceed));
});
