import { EntryKit } from './entry-kit.js';
import { entryListCases } from './entry-list-cases.js';
import { entryPutCases } from './entry-put-cases.js';
import { entrySlotCases } from './entry-slot-cases.js';
import { PortKit } from './port-kit.js';
import { type ContractCase, contractCases, type TestRunner } from './port-case.js';
import type { LockDocumentsContractOptions, LockEntriesContractOptions } from './port-options.js';
import { readCases } from './read-cases.js';
import { renewCases } from './renew-cases.js';
import { writeCases } from './write-cases.js';

/**
 * The contract of `LockDocuments`, what a database must be able to do to keep locks, as cases that any test runner can run, one after
 * another. Cases for which `options` has no hook are left out. No case depends on how fast the machine is.
 */
export function lockDocumentsContract(options: LockDocumentsContractOptions): ContractCase[] {
  return contractCases(
    [...readCases, ...writeCases, ...renewCases],
    options,
    (subject) => new PortKit(subject, options),
  );
}

/**
 * Registers the contract suite of a database with a test runner:
 *
 * ```ts
 * describeLockDocuments('My documents', { create: () => ({ documents }), wait: sleep }, { describe, test });
 * ```
 */
export function describeLockDocuments(
  name: string,
  options: LockDocumentsContractOptions,
  runner: TestRunner,
): void {
  runner.describe(name, () => {
    for (const { name: sentence, run } of lockDocumentsContract(options)) runner.test(sentence, run);
  });
}

/** The contract of `LockEntries`, as `lockDocumentsContract` is that of `LockDocuments`. */
export const lockEntriesContract = (options: LockEntriesContractOptions): ContractCase[] =>
  contractCases(
    [...entryListCases, ...entryPutCases, ...entrySlotCases],
    options,
    ({ entries, others = [] }) => new EntryKit(entries, others, options),
  );

/** Registers the contract suite of entries with a test runner, as `describeLockDocuments` does that of documents. */
export function describeLockEntries(
  name: string,
  options: LockEntriesContractOptions,
  runner: TestRunner,
): void {
  runner.describe(name, () => {
    for (const { name: sentence, run } of lockEntriesContract(options)) runner.test(sentence, run);
  });
}
