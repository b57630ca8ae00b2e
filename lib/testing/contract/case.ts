import type { Kit } from './kit.js';
import type { ContractHook } from './options.js';

/** A sentence of the contract and how it is checked. */
export interface CaseDefinition {
  /** Number of the rule on the `LockStore` interface. */
  readonly rule: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
  readonly sentence: string;
  readonly needs?: readonly ContractHook[];
  /** It is about leases that the store lost, so durable stores are not asked. */
  readonly restore?: true;
  /** It is about durable stores alone. */
  readonly durable?: true;
  run(kit: Kit): Promise<void>;
}
