import { StoreUnavailableError } from '../../../lib/base/errors.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import type { ManualClock } from '../../../lib/testing/manual-clock.js';
import { LocksOnly } from '../../support/locks-only.js';

type Operation = 'acquire' | 'extend' | 'release';

/** How one call goes; `carryOut` does what was asked and answers it. */
export type Behaviour = (carryOut: () => Promise<unknown>) => Promise<unknown>;

export interface StoreCall {
  readonly operation: Operation;
  /** Monotonic time of the call. */
  readonly at: number;
  readonly names: readonly string[];
  readonly token: string;
  readonly options?: ReleaseOptions | undefined;
}

/** A memory store that notes every call, and can be told how the next ones go. */
export class ScriptedStore extends LocksOnly implements LockStore {
  readonly calls: StoreCall[] = [];
  /** Whether it is one whose locks live on several servers. */
  partitioned = false;
  readonly #clock: ManualClock;
  readonly #memory: { store: MemoryLockStore };
  readonly #next: Record<Operation, Behaviour[]> = { acquire: [], extend: [], release: [] };
  readonly #always = new Map<Operation, Behaviour>();
  readonly #listeners = new Set<() => void>();

  readonly pause: MemoryLockStore['pause'] = (name, asked) => this.#memory.store.pause(name, asked);

  constructor(clock: ManualClock, shared?: ScriptedStore) {
    super();
    this.#clock = clock;
    this.#memory = shared === undefined ? { store: new MemoryLockStore({ clock }) } : shared.#memory;
  }

  /** How the next calls of this kind go, one behaviour each; the ones after go well. */
  next(operation: Operation, ...behaviours: Behaviour[]): void {
    this.#next[operation].push(...behaviours);
  }

  /** How all calls of this kind go from now on, until {@link recover}. */
  always(operation: Operation, behaviour: Behaviour): void {
    this.#always.set(operation, behaviour);
  }

  /** Every call fails from now on. */
  breakDown(behaviour: Behaviour = notConnected): void {
    for (const operation of ['acquire', 'extend', 'release'] as const) this.always(operation, behaviour);
  }

  recover(): void {
    this.#always.clear();
  }

  /** The server was restarted empty. */
  forget(): void {
    this.#memory.store = new MemoryLockStore({ clock: this.#clock });
  }

  /** The connection is back. */
  announce(): void {
    for (const listener of this.#listeners) listener();
  }

  get listening(): number {
    return this.#listeners.size;
  }

  of(operation: Operation): StoreCall[] {
    return this.calls.filter((call) => call.operation === operation);
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    const carryOut = (): Promise<AcquireResult> => this.#memory.store.acquire(request);
    return this.#call('acquire', [request], carryOut);
  }

  extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return this.#call('extend', leases, () => this.#memory.store.extend(leases));
  }

  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    return this.#call('release', [lease], () => this.#memory.store.release(lease, options), options);
  }

  onAvailable(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #call<T>(
    operation: Operation,
    leases: readonly AcquireRequest[],
    carryOut: () => Promise<T>,
    options?: ReleaseOptions,
  ): Promise<T> {
    const names = leases.map(({ name }) => name);
    this.calls.push({
      operation,
      at: this.#clock.monotonic(),
      names,
      token: leases[0]?.token ?? '',
      options,
    });
    const behaviour = this.#next[operation].shift() ?? this.#always.get(operation);
    return behaviour === undefined ? carryOut() : (behaviour(carryOut) as Promise<T>);
  }
}

export const notConnected: Behaviour = () =>
  Promise.reject(new StoreUnavailableError('not connected', { outcome: 'not-applied' }));

export const brokenConnection: Behaviour = () =>
  Promise.reject(new StoreUnavailableError('connection lost', { outcome: 'unknown' }));

/** Never answers, and nothing happens. */
export const silence: Behaviour = () => new Promise(() => undefined);

export const answers =
  (answer: unknown): Behaviour =>
  () =>
    Promise.resolve(answer);

export const failsWith =
  (error: Error): Behaviour =>
  () =>
    Promise.reject(error);

/** A call that is answered when the test says so. */
export interface HeldCall {
  readonly behaviour: Behaviour;
  /** Delivers the answer. */
  answer(): void;
  /** Fails it. */
  fail(error: Error): void;
}

/**
 * Holds one call back.
 *
 * @param point `reply`: it is carried out at once and only the answer is late; `request`: it reaches the store late
 */
export function hold(point: 'reply' | 'request'): HeldCall {
  let open!: () => void;
  let fail!: (error: Error) => void;
  const gate = new Promise<void>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  const behaviour: Behaviour = async (carryOut) => {
    const done = point === 'reply' ? carryOut() : undefined;
    await gate;
    return done ?? carryOut();
  };
  return { behaviour, answer: open, fail };
}
