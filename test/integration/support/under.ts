import type { Lock } from '../../../lib/index.js';
import { withScope } from '../../../lib/lock/current-lock.js';

/** Runs something under a lease: as a job does, without a store. */
export async function under<T>(
  lease: Pick<Lock, 'fencingToken' | 'tick'> & Partial<Pick<Lock, 'name' | 'job' | 'assertLocked'>>,
  job: () => T | Promise<T>,
): Promise<T> {
  const lock: Lock = {
    name: 'invoices',
    job: 'Jobs.invoices',
    holder: 'here',
    attempt: 1,
    waited: 0,
    queuedCall: undefined,
    signal: new AbortController().signal,
    report: () => undefined,
    assertLocked: () => undefined,
    ...lease,
  };
  return withScope({}, lock, undefined, job);
}
