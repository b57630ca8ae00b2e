import { AsyncLocalStorage } from 'node:async_hooks';
import type { JobStart } from '../base/job-start.js';
import { shared } from '../base/shared.js';

/**
 * Tells a call that the scheduler fires from a call by hand.
 *
 * `@nestjs/schedule` takes `instance[key]` in its `onModuleInit` and later fires `method.call(instance)`. Versions 4 to 12 do
 * so, and tests pin it. So the outermost function gets a `call` of its own that leaves a mark. Other callers (routers,
 * `this.job()`, other decorators) do not reach it: routers use `apply`. Code that looks the method up and uses `call` finds a
 * property of the instance's own, which shadows the method after start-up.
 */
interface Mark extends ScheduledCall {
  readonly instance: object;
  readonly key: string | symbol;
}

/** A call that the scheduler fires. A decorator above ours may try it several times. */
export interface ScheduledCall {
  /** The start that the call belongs to: set at the first try, or given if this library fires a tick again. */
  start: JobStart | undefined;
  /** Whether this library fires a tick again. */
  readonly again: boolean;
  /** Whether its job has begun, or the call has ended: calls in its context count as calls by hand from then on. */
  over: boolean;
}

const marks = shared('marks', () => new AsyncLocalStorage<Mark | undefined>());

type Method = (this: object, ...args: unknown[]) => unknown;

/**
 * Makes `method.call(…)` leave the mark of the scheduler. Safe to repeat.
 *
 * @param outsideOfLocks runs the call outside of the locks under which the timer was started: a job may have started it
 */
export function markScheduled(
  method: Method,
  key: string | symbol,
  outsideOfLocks: <T>(fire: () => T) => T,
): void {
  if (Object.hasOwn(method, 'call')) return;
  Object.defineProperty(method, 'call', {
    configurable: true,
    writable: true,
    enumerable: false,
    value: (instance: object, ...args: unknown[]): unknown =>
      outsideOfLocks(() =>
        fire({ instance, key, start: undefined, again: false, over: false }, method, args),
      ),
  });
}

/** Fires a method as the scheduler does, for a given start of its job. */
export function fireAgain(method: Method, instance: object, key: string | symbol, start: JobStart): unknown {
  return fire({ instance, key, start, again: true, over: false }, method, []);
}

/** Calls the method with the mark, which {@link scheduledCall} finds when the explorer asks on behalf of that very call. */
function fire(mark: Mark, method: Method, args: unknown[]): unknown {
  const result = marks.run(mark, () => Reflect.apply(method, mark.instance, args));
  const end = (): void => void (mark.over = true);
  // Code that inherits the context of a skipped call must not get its tick.
  if (result instanceof Promise) result.then(end, end);
  return result;
}

/** Makes `instance[key]` a call by hand from now on, also of a spy on the prototype. Returns a function that undoes this. */
export function markByHand(instance: object, key: string | symbol): () => void {
  if (Object.hasOwn(instance, key) || !Object.isExtensible(instance)) return () => undefined;
  const byHand = function (this: object, ...args: unknown[]): unknown {
    const method = Reflect.get(Object.getPrototypeOf(instance) as object, key, this) as Method;
    return marks.run(undefined, () => Reflect.apply(method, this, args));
  };
  Object.defineProperty(instance, key, {
    configurable: true,
    writable: true,
    enumerable: false,
    value: byHand,
  });
  return () => {
    // What a proxy answers may be another function.
    const own: unknown = Object.getOwnPropertyDescriptor(instance, key)?.value;
    if (own === byHand) Reflect.deleteProperty(instance, key);
  };
}

/**
 * The call by the scheduler that this very call belongs to, if any. Calls that the job itself makes are calls by hand.
 *
 * @param isOf whether what the scheduler fired a method of is the instance of this call, or stands for it
 */
export function scheduledCall(
  isOf: (instance: object) => boolean,
  key: string | symbol,
): ScheduledCall | undefined {
  const mark = marks.getStore();
  return mark === undefined || mark.over || mark.key !== key || !isOf(mark.instance) ? undefined : mark;
}
