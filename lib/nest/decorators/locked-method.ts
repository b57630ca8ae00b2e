import { LockNotBoundError } from '../../base/errors.js';
import type { SchedulerLockOptions } from '../options/options.js';
import { shared, sharedSymbol } from '../../base/shared.js';

export type Method = (this: object, ...args: never[]) => unknown;

/** One method of one class with `@SchedulerLock()`. */
export interface LockedMethod {
  readonly key: string | symbol;
  readonly options: SchedulerLockOptions;
  /** The method itself, without its lock. */
  readonly method: Method;
  /** What stands in its place. */
  readonly guard: Method;
}

/** Runs the original method of one instance through its lock. */
export type Binding = (proceed: () => unknown, args: readonly unknown[]) => Promise<unknown>;

/** Guarded methods by the prototype that declares them. */
const declared = shared('guarded methods', () => new WeakMap<object, LockedMethod[]>());
/**
 * Where an instance keeps its bindings: a property of its own, which is found through all proxies that stand before the object, and behind
 * them. Libraries put such proxies around providers, and call methods on either side. The binding of a closed application stays: it skips
 * calls that still come.
 */
const BINDINGS = sharedSymbol('bindings');
/** Bindings of instances that take no more properties. */
const ofFrozen = shared('bindings of frozen instances', () => new WeakMap<object, Bindings>());
/** Bindings of applications that have not been closed. */
const open = shared('open bindings', () => new WeakSet<Binding>());

/** How guarded methods run without a module. Only `runUnlocked()` of the testing entry sets it. */
const unbound = shared('unbound calls', (): { bypass?: Bypass } => ({}));

type Bindings = Map<LockedMethod, Binding>;
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
  const lockedMethod = async function (this: object, ...args: unknown[]): Promise<unknown> {
    const proceed = (): unknown => Reflect.apply(method, this, args);
    const binding = bindingsOf(this)?.get(declaration);
    if (binding !== undefined) return binding(proceed, args);
    const job = `${this?.constructor?.name ?? 'unknown'}.${String(key)}`;
    const unlocked = unbound.bypass?.(proceed, job);
    if (unlocked === undefined) throw new LockNotBoundError(job);
    return unlocked;
  };
  const guard = disguised(lockedMethod, method);
  const declaration: LockedMethod = { key, options, method, guard };
  declared.set(prototype, [...(declared.get(prototype) ?? []), declaration]);
  return guard;
}

/**
 * Copies name, length, and all that decorators below this one have attached to the function, or to one from which it inherits: the
 * wrappers of aspects do.
 */
function disguised<T extends object>(wrapper: T, method: object): T {
  const { prototype: _prototype, ...properties } = Object.getOwnPropertyDescriptors(method);
  Object.defineProperties(wrapper, properties);
  for (const metadataKey of Reflect.getMetadataKeys(method) as unknown[]) {
    Reflect.defineMetadata(metadataKey, Reflect.getMetadata(metadataKey, method), wrapper);
  }
  return wrapper;
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

/** Whether an application that has not been closed has bound the method. */
export function isBound(instance: object, method: LockedMethod): boolean {
  const binding = bindingsOf(instance)?.get(method);
  return binding !== undefined && open.has(binding);
}

/** Binds a method of an instance. @returns what frees it for another application */
export function bind(instance: object, method: LockedMethod, binding: Binding): () => void {
  identityOf(instance).set(method, binding);
  open.add(binding);
  return () => void open.delete(binding);
}

/** Whether two are one object, or proxies around one. */
export const isSameObject = (one: object, other: object): boolean =>
  one === other || identityOf(one) === bindingsOf(other);

/** What two proxies around one object have in common, and two objects never. */
export function identityOf(instance: object): Bindings {
  const known = bindingsOf(instance);
  if (known !== undefined) return known;
  const made: Bindings = new Map();
  if (!Reflect.defineProperty(instance, BINDINGS, { value: made })) ofFrozen.set(instance, made);
  return made;
}

/** Reads no property by its name: mocks have all of them. */
function bindingsOf(instance: object | null | undefined): Bindings | undefined {
  if (instance === undefined || instance === null) return undefined;
  const own: unknown = Object.getOwnPropertyDescriptor(instance, BINDINGS)?.value;
  return own instanceof Map ? (own as Bindings) : ofFrozen.get(instance);
}

const prototypeOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null;
