import type { LockStore } from '../../lib/contract/lock-store.js';
import { DocumentLockStore } from '../../lib/rules/documents/document-lock-store.js';

const { keeps, queuedCalls, history } = new DocumentLockStore({
  read: async () => ({ now: 0, documents: [] }),
  write: async () => [],
  renew: async () => [],
});

/** The parts of a store that keeps locks only. */
export const locksOnly: Pick<LockStore, 'keeps' | 'queuedCalls' | 'history' | 'hints' | 'inspect'> = {
  keeps,
  queuedCalls,
  history,
  hints: () => undefined,
  inspect: async () => [],
};

/** The same for a class. */
export class LocksOnly {
  readonly keeps: LockStore['keeps'] = keeps;
  readonly queuedCalls: LockStore['queuedCalls'] = queuedCalls;
  readonly history: LockStore['history'] = history;

  hints(): undefined {}

  async inspect(): ReturnType<LockStore['inspect']> {
    return [];
  }
}
