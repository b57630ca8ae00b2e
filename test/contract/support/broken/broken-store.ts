import type { ManualClock } from '../../../../lib/testing/index.js';
import type { ReferenceStore } from '../reference-store.js';

type StoreClass = new (clock: ManualClock) => ReferenceStore;

/** A store that breaks the contract in one way. */
export interface BrokenStore {
  /** Name of the case that is to catch it. */
  readonly caught: string;
  /** What the case is to say, with names and holders made readable. */
  readonly message: string;
  /** It says of itself that it is durable. */
  readonly durable?: true;
  make(clock: ManualClock): ReferenceStore;
}

export function broken(caught: string, message: string, Class: StoreClass): BrokenStore {
  return { caught, message, make: (clock) => new Class(clock) };
}
