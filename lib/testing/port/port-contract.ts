import type { ContractCase, TestRunner } from '../contract/contract.js';
import { PortKit } from './port-kit.js';
import type { PortCaseDefinition } from './port-case.js';
import type { LockDocumentsContractOptions } from './port-options.js';
import { readCases } from './read-cases.js';
import { renewCases } from './renew-cases.js';
import { writeCases } from './write-cases.js';

const definitions: readonly PortCaseDefinition[] = [...readCases, ...writeCases, ...renewCases].sort(
  (a, b) => a.rule - b.rule,
);

/**
 * The contract of `LockDocuments`, what a database must be able to do to keep locks, as cases that any test runner can run, one after
 * another. Cases for which `options` has no hook are left out. No case depends on how fast the machine is.
 */
export function lockDocumentsContract(options: LockDocumentsContractOptions): ContractCase[] {
  return definitions
    .filter(({ needs = [] }) => needs.every((hook) => options[hook] !== undefined))
    .map(({ rule, sentence, run }) => ({
      name: `rule ${rule}: ${sentence}`,
      run: async () => {
        const subject = await options.create();
        try {
          await run(new PortKit(subject, options));
        } finally {
          await subject.close?.();
        }
      },
    }));
}

/** Registers the contract suite of a database with a test runner, as `describeLockStore` does that of a store. */
export function describeLockDocuments(
  name: string,
  options: LockDocumentsContractOptions,
  runner: TestRunner,
): void {
  runner.describe(name, () => {
    for (const { name: sentence, run } of lockDocumentsContract(options)) runner.test(sentence, run);
  });
}
