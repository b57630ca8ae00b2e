export {
  CommitGuard,
  type CommitGuardOptions,
  type CommitOptions,
  type GuardDialect,
} from './commit-guard.js';
export type { GuardedTransaction, GuardQuery } from './transactions.js';
export { AlreadyCommittedError, LockSupersededError } from '../base/errors.js';
