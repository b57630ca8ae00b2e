/*
 * lib/nest/decorators: marks methods and classes: records the options, and replaces the method by one that refuses to run until a module has
 * bound it.
 * May not enter: reading or checking of options, locks, Nest.
 */
import 'reflect-metadata';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { isLockedMethod, lockMethod, type Method } from './locked-method.js';
import type { SchedulerLockOptions } from '../options/options.js';

/**
 * What `@SchedulerLock()` decorates: a method whose parameters begin with `A`, and that returns a promise or nothing. A
 * method that returns a plain value does not compile, since its callers would get a promise instead. Nor does a method that
 * returns an Observable or a generator, whose work is not done yet.
 */
export interface SchedulerLockDecorator<A extends readonly unknown[]> {
  <T extends (...args: [...A, ...never[]]) => PromiseLike<unknown> | void>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void;
  /** For `applyDecorators()`, which does not know the type of its target. On a class it throws. */
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- the type that applyDecorators() asks for
  <T extends Function>(target: T): void;
}

/**
 * Runs the method on one instance of the fleet at a time. A call takes the lock, runs the method, and releases the lock. If
 * the lock is taken, the method does not run, and the call resolves to `undefined`.
 *
 * Put it above or below `@Cron()`, `@Interval()` and `@Timeout()`, on methods of providers and controllers. Calls by hand go
 * through the lock as well. Without an imported `SchedulerLockModule` the method refuses to run.
 *
 * @param nameOrOptions name of the lock, or options; the default name is `ClassName.methodName`
 * @throws SchedulerLockConfigError at class definition, on a class, a static method, an accessor, a property or a generator
 *   method, and if a method has the decorator twice. Wrong options are reported when the application starts.
 */
export function SchedulerLock<A extends readonly unknown[] = never>(
  nameOrOptions: string | SchedulerLockOptions<A> = {},
): SchedulerLockDecorator<A> {
  const options = typeof nameOrOptions === 'string' ? { name: nameOrOptions } : nameOrOptions;
  const decorate = (target: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const problem = placeProblem(target, key, descriptor);
    if (problem !== undefined) throw new SchedulerLockConfigError([problem]);
    if (key === undefined || descriptor === undefined) return;
    descriptor.value = lockMethod(target, key, descriptor.value as Method, options);
  };
  return decorate;
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
  const where = `@SchedulerLock() on ${(isStatic ? target : target.constructor).name}.${String(key)}`;
  if (isStatic)
    return `${where}: static methods cannot be locked, as Nest does not manage them. Make it an instance method.`;
  return methodProblem(target, key, descriptor, where);
}

function methodProblem(
  target: object,
  key: string | symbol,
  descriptor: PropertyDescriptor | undefined,
  where: string,
): string | undefined {
  if (descriptor?.get !== undefined || descriptor?.set !== undefined) {
    return `${where}: accessors cannot be locked. Make it a method.`;
  }
  const method: unknown = descriptor?.value;
  if (typeof method !== 'function')
    return `${where}: only methods can be locked, and this is a property. Make it a method: async ${String(key)}() { … }.`;
  if (isLockedMethod(target, key)) return `${where}: it is there twice. Leave one of them out.`;
  if (isGeneratorFunction(method)) {
    return `${where}: a generator does its work for whoever iterates over it, without the lock. Make it an async method that iterates inside.`;
  }
  return undefined;
}

const isGeneratorFunction = (method: object): boolean =>
  /Generator/.test(Object.prototype.toString.call(method));
