import type { PortKit } from './port-kit.js';

/** A sentence of the contract, with its check. */
export interface PortCaseDefinition {
  /** Number of the rule on the `LockDocuments` interface. */
  readonly rule: 1 | 2 | 3 | 4 | 5;
  readonly sentence: string;
  readonly needs?: readonly ('skewInstanceClock' | 'takeByStranger' | 'holdDocument')[];
  run(kit: PortKit): Promise<void>;
}
