import { LockNotBoundError } from './errors.js';
import type { SchedulerLockOptions } from './scheduler-lock.options.js';

export type Method = (this: object, ...args: never[]) => unknown;

/** What `@SchedulerLock()` noted about one method of one class. */
export interface GuardedMethod {
  readonly key: string | symbol;
  readonly options: SchedulerLockOptions;
}

/** Runs the original method of one instance through its lock. */
export type Binding = (proceed: () => unknown, args: readonly unknown[]) => Promise<unknown>;

/** Guarded methods by the prototype that declares them. */
const declared = new WeakMap<object, GuardedMethod[]>();
/** Bindings by instance. */
const bindings = new WeakMap<object, Map<GuardedMethod, Binding>>();

/** How guarded methods run without a module: set by `runUnlocked()` of the testing entry, and by nothing else. */
let bypass: (proceed: () => unknown, job: string) => Promise<unknown> | undefined = () => undefined;

/** @internal */
export function setBypass(value: typeof bypass): void {
  bypass = value;
}

/** Puts a guard in the place of `method`: it refuses to run until a module has bound the instance. */
export function guard(
  prototype: object,
  key: string | symbol,
  method: Method,
  options: SchedulerLockOptions,
): Method {
  const guarded: GuardedMethod = { key, options };
  declared.set(prototype, [...(declared.get(prototype) ?? []), guarded]);
  const guardedMethod = async function (this: object, ...args: unknown[]): Promise<unknown> {
    const proceed = (): unknown => Reflect.apply(method, this, args);
    const binding = bindings.get(this)?.get(guarded);
    if (binding !== undefined) return binding(proceed, args);
    const job = `${this?.constructor?.name ?? 'unknown'}.${String(key)}`;
    const unlocked = bypass(proceed, job);
    if (unlocked === undefined) throw new LockNotBoundError(job);
    return unlocked;
  };
  // Name and length, and whatever decorators below this one have hung on the function.
  const { prototype: _prototype, ...properties } = Object.getOwnPropertyDescriptors(method);
  Object.defineProperties(guardedMethod, properties);
  for (const metadataKey of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(metadataKey, Reflect.getOwnMetadata(metadataKey, method), guardedMethod);
  }
  return guardedMethod as Method;
}

/** All guarded methods of an instance, those of its own class first, overridden ones included. */
export function guardedMethods(instance: object): GuardedMethod[] {
  const found: GuardedMethod[] = [];
  for (let prototype = prototypeOf(instance); prototype !== null; prototype = prototypeOf(prototype)) {
    found.push(...(declared.get(prototype) ?? []));
  }
  return found;
}

export function isBound(instance: object, method: GuardedMethod): boolean {
  return bindings.get(instance)?.has(method) ?? false;
}

/** @returns a function that takes the binding back */
export function bind(instance: object, method: GuardedMethod, binding: Binding): () => void {
  const bound = bindings.get(instance) ?? new Map<GuardedMethod, Binding>();
  bindings.set(instance, bound.set(method, binding));
  return () => bound.delete(method);
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;
