/*
 * lib/testing: tools for users' tests: the suites for a database of their own, a clock that stands still, stores that fail, jobs
 * without locks.
 * May not enter: Nest, databases, a test runner.
 */
export { ManualClock } from './manual-clock.js';
export { type PretendedLock, runAllUnlocked, runUnlocked } from './run-unlocked.js';
export { FakeLockStore } from './fake-lock-store.js';
export { MemoryLockStore } from '../stores/memory/memory-lock.store.js';
export {
  describeLockDocuments,
  describeLockEntries,
  lockDocumentsContract,
  lockEntriesContract,
} from './port/port-contract.js';
export type {
  EntriesSubject,
  LockDocumentsContractOptions,
  LockEntriesContractOptions,
  PortSubject,
} from './port/port-options.js';
export type { ContractCase, TestRunner } from './port/port-case.js';
