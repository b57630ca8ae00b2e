import type { LockStore } from '../../stores/lock-store.js';

/** A store for one case of the contract. */
export interface ContractSubject {
  /** Ready for calls, and without any lease: a namespace of its own is enough. */
  readonly store: LockStore;
  /** More stores over the same data, as other instances of an application have. They compete with the first one. */
  readonly others?: readonly LockStore[];
  /** Called after the case, whether it passed or not. */
  close?(): void | Promise<void>;
}

/** How the contract suite gets at a store. What a store cannot do is left out, with the cases that need it. */
export interface LockStoreContractOptions {
  /** Called once per case. */
  create(): ContractSubject | Promise<ContractSubject>;
  /** Lets this much time pass on the store's clock: really for a server, `clock.advance(ms)` on a manual clock. */
  wait(ms: number): Promise<void>;
  /** Makes the store lose the lock, but not what it keeps beside it: `DEL` of the lock's key. */
  forget?(name: string, store: LockStore): void | Promise<void>;
  /** Makes the store lose what it keeps beside the lock, but not the lock: an eviction. */
  forgetState?(name: string, store: LockStore): void | Promise<void>;
  /** Makes the store lose everything: a restart without persistence. */
  forgetAll?(store: LockStore): void | Promise<void>;
  /** Puts something in the place of the lock that the store cannot read: a value of the wrong type. */
  breakLock?(name: string, store: LockStore): void | Promise<void>;
  /** Shifts this process's wall clock, but not the store's, by so many milliseconds; 0 puts it right again. */
  skewInstanceClock?(ms: number): void | Promise<void>;
  /** The store does not lose data: it never restores a lease, also not one that ran out a moment ago. @default false */
  readonly durable?: boolean;
  /** The store has `inspect()`, which is checked too. @default false */
  readonly inspects?: true;
}

/** What a case cannot do without. */
export type ContractHook =
  'forget' | 'forgetState' | 'forgetAll' | 'breakLock' | 'skewInstanceClock' | 'inspects';
