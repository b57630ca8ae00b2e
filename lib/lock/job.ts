import { SchedulerLockConfigError } from '../base/errors.js';
import { invoke, type Lock } from './current-lock.js';
import { type LockCall, whereOf } from './lock-call.js';

/**
 * Called around each run. It calls `proceed` once, which begins the job, and returns its promise. The result of the run is that of the
 * job; if the wrapper itself fails, so does the run.
 *
 * @param lock the lock that the job runs under
 */
export type Around = <T>(lock: Lock, proceed: () => Promise<T>) => Promise<T>;

/** Lasts until the wrapper and the job have both ended. */
export async function wrapped<T>(
  wrap: Around,
  lock: Lock,
  job: (lock: Lock) => T | PromiseLike<T>,
): Promise<T> {
  let work: Promise<T> | undefined;
  const proceed = (): Promise<T> => (work ??= (async () => invoke(job, lock))());
  try {
    await wrap(lock, proceed);
  } catch (error) {
    // If the job has failed, its error counts, not the wrapper's.
    await work;
    throw error;
  }
  if (work === undefined)
    throw new SchedulerLockConfigError([
      `around(): a wrapper ended without having called proceed(), so the job under ${JSON.stringify(lock.name)} has not run. Call it once, and return its promise.`,
    ]);
  return work;
}

/** Refuses a return value whose consumer would do the work, without the lock. @throws SchedulerLockConfigError */
export function refuseUndone(value: unknown, call: Pick<LockCall, 'name' | 'job'>): void {
  if (typeof value !== 'object' || value === null) return;
  const problem = isObservable(value) ? OBSERVABLE : isGenerator(value) ? GENERATOR : undefined;
  if (problem !== undefined) throw new SchedulerLockConfigError([`${whereOf(call)}: ${problem}`]);
}

const OBSERVABLE =
  'the job returned an Observable, which does its work for whoever subscribes to it, without the lock. ' +
  'Return a promise of what it does: lastValueFrom(observable).';
const GENERATOR =
  'the job returned a generator, which does its work for whoever iterates over it, without the lock. ' +
  'Iterate inside of the job, and return a promise.';

/** RxJS' own test, and the one for other libraries. `subscribe` alone proves nothing: clients of message brokers have it. */
function isObservable(value: object): boolean {
  if (!('subscribe' in value)) return false;
  const { observable = '@@observable' } = Symbol as { readonly observable?: symbol };
  return 'lift' in value || observable in value;
}

/** Also recognises generators that a compiler has transformed. Other iterators have no `throw()`. */
const isGenerator = (value: object): boolean =>
  'next' in value && 'throw' in value && (Symbol.iterator in value || Symbol.asyncIterator in value);
