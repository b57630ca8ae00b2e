import { SchedulerLockConfigError } from '../base/errors.js';
import { type LockCall, whereOf } from './lock-call.js';

/**
 * Refuses a return value that has not done its work yet (an Observable, a generator): its consumer would do the work without
 * the lock.
 *
 * @param call the call of that job
 * @throws SchedulerLockConfigError
 */
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

/**
 * RxJS' own test, and the one for other libraries. `subscribe` alone proves nothing: clients of message brokers have it as
 * well.
 */
function isObservable(value: object): boolean {
  if (!('subscribe' in value)) return false;
  const { observable = '@@observable' } = Symbol as { readonly observable?: symbol };
  return 'lift' in value || observable in value;
}

/** Also recognises generators that a compiler has transformed. Other iterators have no `throw()`. */
const isGenerator = (value: object): boolean =>
  'next' in value && 'throw' in value && (Symbol.iterator in value || Symbol.asyncIterator in value);
