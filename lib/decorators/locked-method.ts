import { LockNotBoundError } from '../errors.js';
import type { SchedulerLockOptions } from '../options/options.js';
import { shared } from '../shared.js';

export type Method = (this: object, ...args: never[]) => unknown;

/** One method of one class with `@SchedulerLock()`. */
export interface LockedMethod {
  readonly key: string | symbol;
  readonly options: SchedulerLockOptions;
  /** The method itself, without its lock. */
  readonly method: Method;
}

/** Runs the original method of one instance through its lock. */
export type Binding = (proceed: () => unknown, args: readonly unknown[]) => Promise<unknown>;

/** Guarded methods by the prototype that declares them. */
const declared = shared('guarded methods', () => new WeakMap<object, LockedMethod[]>());
/** Bindings by instance. The binding of a closed application stays: it skips calls that still come. */
const bindings = shared('bindings', () => new WeakMap<object, Map<LockedMethod, Binding>>());
/** Bindings of applications that have started and have not been closed. */
const open = shared('open bindings', () => new WeakSet<Binding>());

/** How guarded methods run without a module. Only `runUnlocked()` of the testing entry sets it. */
const unbound = shared('unbound calls', (): { bypass?: Bypass } => ({}));

type Bypass = (proceed: () => unknown, job: string) => Promise<unknown> | undefined;

/** @internal */
export function setBypass(value: Bypass): void {
  unbound.bypass = value;
}

/** Replaces `method` by one that refuses to run until a module has bound the instance. */
export function lockMethod(
  prototype: object,
  key: string | symbol,
  method: Method,
  options: SchedulerLockOptions,
): Method {
  const declaration: LockedMethod = { key, options, method };
  declared.set(prototype, [...(declared.get(prototype) ?? []), declaration]);
  const lockedMethod = async function (this: object, ...args: unknown[]): Promise<unknown> {
    const proceed = (): unknown => Reflect.apply(method, this, args);
    const binding = bindings.get(this)?.get(declaration);
    if (binding !== undefined) return binding(proceed, args);
    const job = `${this?.constructor?.name ?? 'unknown'}.${String(key)}`;
    const unlocked = unbound.bypass?.(proceed, job);
    if (unlocked === undefined) throw new LockNotBoundError(job);
    return unlocked;
  };
  // Copies name, length, and all that decorators below this one have attached to the function.
  const { prototype: _prototype, ...properties } = Object.getOwnPropertyDescriptors(method);
  Object.defineProperties(lockedMethod, properties);
  for (const metadataKey of Reflect.getOwnMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(metadataKey, Reflect.getOwnMetadata(metadataKey, method), lockedMethod);
  }
  return lockedMethod;
}

/** Whether this very class has guarded the method. */
export function isLockedMethod(prototype: object, key: string | symbol): boolean {
  return declared.get(prototype)?.some((method) => method.key === key) ?? false;
}

/** All guarded methods of an instance, those of its own class first, overridden ones included. */
export function lockedMethods(instance: object): LockedMethod[] {
  const found: LockedMethod[] = [];
  for (let prototype = prototypeOf(instance); prototype !== null; prototype = prototypeOf(prototype)) {
    found.push(...(declared.get(prototype) ?? []));
  }
  return found;
}

/** Whether an application that has started and has not been closed has bound the method. */
export function isBound(instance: object, method: LockedMethod): boolean {
  const binding = bindings.get(instance)?.get(method);
  return binding !== undefined && open.has(binding);
}

/** A method that an application has bound, and what that application does with it later. */
export interface BoundMethod {
  /**
   * Keeps the method until it is freed. Only an application that has started does so: one whose start fails is never closed.
   *
   * @returns whether it is kept; not if another application has bound the method meanwhile
   */
  keep(): boolean;
  /** Frees the method for another application. */
  free(): void;
}

export function bind(instance: object, method: LockedMethod, binding: Binding): BoundMethod {
  const bound = bindings.get(instance) ?? new Map<LockedMethod, Binding>();
  bindings.set(instance, bound.set(method, binding));
  return {
    keep: () => {
      const kept = bound.get(method) === binding;
      if (kept) open.add(binding);
      return kept;
    },
    free: () => void open.delete(binding),
  };
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;
