import type { ContractCase, TestRunner } from '../contract/contract.js';
import { EntryKit } from './entry-kit.js';
import { entryListCases } from './entry-list-cases.js';
import type { LockEntriesContractOptions } from './entry-options.js';
import { entryPutCases } from './entry-put-cases.js';

const definitions = [...entryListCases, ...entryPutCases].sort((a, b) => a.rule - b.rule);

/** The contract of `LockEntries`, as cases that any test runner can run, one after another. No case depends on how fast the machine is. */
export function lockEntriesContract(options: LockEntriesContractOptions): ContractCase[] {
  return definitions
    .filter(({ needs = [] }) => needs.every((hook) => options[hook] !== undefined))
    .map(({ rule, sentence, run }) => ({
      name: `rule ${rule}: ${sentence}`,
      run: async () => {
        const subject = await options.create();
        try {
          await run(new EntryKit(subject.entries, subject.others ?? [], options));
        } finally {
          await subject.close?.();
        }
      },
    }));
}

/** Registers the contract suite of entries with a test runner, as `describeLockStore` does that of a store. */
export function describeLockEntries(
  name: string,
  options: LockEntriesContractOptions,
  runner: TestRunner,
): void {
  runner.describe(name, () => {
    for (const { name: sentence, run } of lockEntriesContract(options)) runner.test(sentence, run);
  });
}
