import { AsyncLocalStorage } from 'node:async_hooks';
import { withScope, type Lock } from '../lock/current-lock.js';
import type { Report } from '../contract/history-store.js';
import { refuseUndone } from '../lock/job.js';
import { reported } from '../lock/report.js';
import { setBypass } from '../nest/decorators/locked-method.js';
import { shared } from '../base/shared.js';

/** The lock that `currentLock()` returns inside {@link runUnlocked}. */
export interface PretendedLock {
  /** @default a signal that never aborts */
  readonly signal?: AbortSignal;
  /** @default 1 */
  readonly fencingToken?: number;
  /** Epoch milliseconds. @default undefined, as in a call by hand */
  readonly tick?: number;
  /** @default 1 */
  readonly attempt?: number;
  /** Receives all that a job has reported so far, each time it reports. */
  readonly onReport?: (report: Report) => void;
}

const unlocked = shared('unlocked', () => new AsyncLocalStorage<PretendedLock>());
const owner = {};

/**
 * Runs `callback`. Inside it, methods with `@SchedulerLock()` that no module has bound run without any lock: for unit tests of the
 * work of a job. There `currentLock()` returns a pretended lock, whose `assertLocked()` throws only once its signal has aborted.
 *
 * ```ts
 * await runUnlocked(() => new RefreshJobs(api).refresh());
 * ```
 *
 * @returns the result of `callback`
 */
export async function runUnlocked<T>(
  callback: () => T | PromiseLike<T>,
  pretended: PretendedLock = {},
): Promise<T> {
  return unlocked.run(pretended, async () => callback());
}

/** The state of {@link runAllUnlocked}. */
const all = shared('all unlocked', (): { pretended?: PretendedLock | undefined } => ({}));

/**
 * From now on, methods with `@SchedulerLock()` that no module has bound run without any lock, as inside
 * {@link runUnlocked}: for a set-up file of Jest or Vitest. Methods of an application that imports `SchedulerLockModule` take their locks all the same.
 *
 * ```ts
 * // test/setup.ts: `setupFiles` of Jest, `test.setupFiles` of Vitest
 * runAllUnlocked();
 * ```
 *
 * @returns a function that ends this
 * @throws Error if `NODE_ENV` is `production`
 */
export function runAllUnlocked(pretended: PretendedLock = {}): () => void {
  if (process.env['NODE_ENV'] === 'production')
    throw new Error('runAllUnlocked() is for tests, and NODE_ENV is production: nothing was switched off.');
  all.pretended = pretended;
  return () => {
    if (all.pretended === pretended) all.pretended = undefined;
  };
}

setBypass((proceed, job) => {
  const pretended = unlocked.getStore() ?? all.pretended;
  if (pretended === undefined) return undefined;
  const { signal = new AbortController().signal, fencingToken = 1, tick, attempt = 1, onReport } = pretended;
  let report: Report | undefined;
  const lock: Lock = {
    name: job,
    job,
    holder: 'unlocked',
    fencingToken,
    tick,
    attempt,
    waited: 0,
    queuedCall: undefined,
    signal,
    report: (values) => onReport?.((report = reported(report, values))),
    assertLocked: () => signal.throwIfAborted(),
  };
  return Promise.resolve(withScope(owner, lock, undefined, proceed)).then((value) => {
    refuseUndone(value, { name: job, job });
    return value;
  });
});
