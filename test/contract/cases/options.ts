import type { LockStore } from '../../../lib/contract/lock-store.js';

/** A store for one case of the contract. */
export interface ContractSubject {
  /** A store that is ready for calls, without any lease: a namespace of its own is enough. */
  readonly store: LockStore;
  /** More stores over the same data, as other instances of an application have. They compete with the first one. */
  readonly others?: readonly LockStore[];
  /** Called after the case, whether it passed or not. */
  close?(): void | Promise<void>;
}

/** How the contract suite uses a store. Leave out what a store cannot do: the suite then leaves out the cases that need it. */
export interface LockStoreContractOptions {
  /** Called once per case. */
  create(): ContractSubject | Promise<ContractSubject>;
  /** Lets this much time pass on the store's clock: real time for a server, `clock.advance(ms)` on a manual clock. */
  wait(ms: number): Promise<void>;
  /** Makes the store lose the lock, but not its side data: `DEL` of the lock's key. */
  forget?(name: string, store: LockStore): void | Promise<void>;
  /** Makes the store lose the side data of the lock, but not the lock: an eviction. */
  forgetState?(name: string, store: LockStore): void | Promise<void>;
  /** Makes the store lose everything: a restart without persistence. */
  forgetAll?(store: LockStore): void | Promise<void>;
  /** Replaces the lock by something that the store cannot read: a value of the wrong type. */
  breakLock?(name: string, store: LockStore): void | Promise<void>;
  /** Shifts this process's wall clock, but not the store's, by this many milliseconds; 0 sets it right again. */
  skewInstanceClock?(ms: number): void | Promise<void>;
  /**
   * Sets the store's clock back by this many milliseconds. If that is impossible for one store alone, it is enough to move all times
   * of this lock ahead by as much: when it becomes, or became, free, and when the intervals of its jobs are due. The cases see no
   * difference.
   */
  setClockBack?(name: string, ms: number, store: LockStore): void | Promise<void>;
  /** The store does not lose data: it never restores a lease, not even one that ran out a moment ago. @default false */
  readonly durable?: boolean;
  /** The store has `hints()`, and so lines of calls that wait: the suite checks rules 10 to 14 as well. */
  readonly lines?: true;
  /** Its hints arrive: `open` of their channel becomes true. */
  readonly hints?: true;
  /** The store has `queuedCalls`: the suite checks rule 15 as well. */
  readonly queuedCalls?: true;
  /** Its calls take so long that of many queued calls with one key, which come at once, not each is counted. @default false */
  readonly far?: true;
  /** The store has `history`: the suite checks rules 16 to 18 as well. */
  readonly history?: true;
  /** Makes the store delete the history entries beyond its limit, if it does so only now and then. */
  tidy?(store: LockStore): void | Promise<void>;
  /** The store has `inspect()`, so the suite checks it as well. @default false */
  readonly inspects?: true;
}

/** An option that a case may need. */
export type ContractHook =
  | 'forget'
  | 'forgetState'
  | 'forgetAll'
  | 'breakLock'
  | 'skewInstanceClock'
  | 'setClockBack'
  | 'inspects'
  | 'lines'
  | 'queuedCalls'
  | 'history'
  | 'hints';
