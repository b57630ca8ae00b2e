import type { Kit } from './kit.js';
import type { ContractHook } from './options.js';

/** A sentence of the contract, with its check. */
export interface CaseDefinition {
  /** The number of the sentence in test/contract/README.md that the case holds, such as `3.1`. */
  readonly rule: `${number}.${number}`;
  readonly sentence: string;
  readonly needs?: readonly ContractHook[];
  /** The case is about leases that the store lost, so it is left out for durable stores. */
  readonly restore?: true;
  /** The case is for durable stores only. */
  readonly durable?: true;
  run(kit: Kit): Promise<void>;
}
