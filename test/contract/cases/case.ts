import type { Kit } from './kit.js';
import type { ContractHook } from './options.js';

/** A sentence of the contract, with its check. */
export interface CaseDefinition {
  /** Number of the rule on the `LockStore` interface. */
  readonly rule: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18;
  readonly sentence: string;
  readonly needs?: readonly ContractHook[];
  /** The case is about leases that the store lost, so it is left out for durable stores. */
  readonly restore?: true;
  /** The case is for durable stores only. */
  readonly durable?: true;
  run(kit: Kit): Promise<void>;
}
