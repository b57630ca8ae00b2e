import { AsyncLocalStorage } from 'node:async_hooks';
import type { JobStart } from '../job-start.js';

/**
 * Tells a call that the scheduler fires from a call by hand.
 *
 * `@nestjs/schedule` takes `instance[key]` in its `onModuleInit` and later fires `method.call(instance)`; that has
 * been so from version 4 to 12, and tests pin it. So the outermost function gets a `call` of its own that leaves a
 * mark; everybody else (routers, `this.job()`, other decorators) does not come by it: routers use `apply`, and after
 * start-up the instance has a property of its own before the method, for those who look the method up and use `call`.
 */
interface Mark {
  readonly instance: object;
  readonly key: string | symbol;
  /** Given if a tick is fired again, by this library. */
  readonly start?: JobStart | undefined;
  used: boolean;
}

const marks = new AsyncLocalStorage<Mark | undefined>();

type Method = (this: object, ...args: unknown[]) => unknown;

/** Metadata key that `@Cron()`, `@Interval()` and `@Timeout()` set on a method. */
const SCHEDULER_TYPE = 'SCHEDULER_TYPE';

/** Whether `@nestjs/schedule` will fire this method. */
export function isScheduled(method: unknown): method is Method {
  return typeof method === 'function' && Reflect.hasMetadata(SCHEDULER_TYPE, method);
}

/** Makes `method.call(…)` leave the mark of the scheduler. Safe to repeat. */
export function markScheduled(method: Method, key: string | symbol): void {
  if (Object.hasOwn(method, 'call')) return;
  Object.defineProperty(method, 'call', {
    configurable: true,
    writable: true,
    enumerable: false,
    value: (instance: object, ...args: unknown[]): unknown =>
      marks.run({ instance, key, used: false }, () => Reflect.apply(method, instance, args)),
  });
}

/** Fires a method as the scheduler does, for a given start of its job. */
export function fireAgain(method: Method, instance: object, key: string | symbol, start: JobStart): unknown {
  return marks.run({ instance, key, start, used: false }, () => Reflect.apply(method, instance, []));
}

/**
 * Makes `instance[key]` a call by hand from now on. Looks the method up when called, so that a spy on the prototype
 * is still called.
 *
 * @returns a function that takes it back
 */
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
    if (Reflect.get(instance, key) === byHand) Reflect.deleteProperty(instance, key);
  };
}

/**
 * Whether the scheduler fired this very call, and which start was given, if it is fired again. Uses the mark up: what
 * the job itself calls is called by hand.
 */
export function takeScheduledMark(
  instance: object,
  key: string | symbol,
): { readonly start?: JobStart | undefined } | undefined {
  const mark = marks.getStore();
  if (mark === undefined || mark.used || mark.instance !== instance || mark.key !== key) return undefined;
  mark.used = true;
  return mark;
}
