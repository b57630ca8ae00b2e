import 'reflect-metadata';
import { SchedulerLockConfigError } from './errors.js';
import { guard, type Method } from './guard.js';
import type { SchedulerLockOptions } from './scheduler-lock.options.js';

/**
 * What `@SchedulerLock()` decorates: a method whose parameters begin with `A` and that returns a promise or nothing. One that
 * returns a plain value does not compile, since its callers would get a promise instead.
 */
export interface SchedulerLockDecorator<A extends readonly unknown[]> {
  <T extends (...args: [...A, ...never[]]) => PromiseLike<unknown> | void>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void;
  /** For `applyDecorators()`, which knows nothing of what it decorates. On a class it throws. */
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- the type that applyDecorators() asks for
  <T extends Function>(target: T): void;
}

/**
 * Runs the method on one instance of the fleet at a time: it takes the lock, runs, and gives the lock back; where the
 * lock is taken, it does not run and resolves `undefined`.
 *
 * Goes above or below `@Cron()`, `@Interval()` and `@Timeout()`, on methods of providers and controllers. Calls by hand
 * go through the lock as well. Without an imported `SchedulerLockModule` the method refuses to run.
 *
 * @param nameOrOptions name of the lock, or options; without, the lock is called `ClassName.methodName`
 * @throws SchedulerLockConfigError at class definition, on a class, a static method, an accessor or a property.
 *   Wrong options are reported when the application starts.
 */
export function SchedulerLock<A extends readonly unknown[] = never>(
  nameOrOptions: string | SchedulerLockOptions<A> = {},
): SchedulerLockDecorator<A> {
  const options = typeof nameOrOptions === 'string' ? { name: nameOrOptions } : nameOrOptions;
  const decorate = (target: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const problem = placeProblem(target, key, descriptor);
    if (problem !== undefined) throw new SchedulerLockConfigError([problem]);
    if (key === undefined || descriptor === undefined) return;
    descriptor.value = guard(target, key, descriptor.value as Method, options as SchedulerLockOptions);
  };
  return decorate as SchedulerLockDecorator<A>;
}

function placeProblem(
  target: object,
  key?: string | symbol,
  descriptor?: PropertyDescriptor,
): string | undefined {
  if (key === undefined) {
    const name = typeof target === 'function' ? target.name : 'unknown';
    return `@SchedulerLock() on the class ${name}: put it on the method that is to be locked.`;
  }
  const isStatic = typeof target === 'function';
  const owner = isStatic ? target.name : target.constructor.name;
  const place = `@SchedulerLock() on ${owner}.${String(key)}`;
  if (isStatic)
    return `${place}: static methods cannot be locked, as Nest does not manage them. Make it an instance method.`;
  if (descriptor?.get !== undefined || descriptor?.set !== undefined) {
    return `${place}: accessors cannot be locked. Make it a method.`;
  }
  if (typeof descriptor?.value !== 'function')
    return `${place}: only methods can be locked, and this is a property.`;
  return undefined;
}
