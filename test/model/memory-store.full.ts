import { test } from '@jest/globals';
import type { LockStore } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock.store.js';
import { agreesWithModel, type StoreSubject } from './support/store-commands.js';
import { locksOnly } from '../support/locks-only.js';

const DAY = 86_400_000;

function memory(): StoreSubject {
  const clock = new ManualClock();
  let current: LockStore = new MemoryLockStore({ clock });
  const store: LockStore = {
    ...locksOnly,
    acquire: (request) => current.acquire(request),
    extend: (leases) => current.extend(leases),
    release: (lease, options) => current.release(lease, options),
  };
  return {
    stores: [store],
    expires: 'all',
    expire: () => clock.advance(DAY),
    forgetAll: async () => {
      await clock.advance(1);
      current = new MemoryLockStore({ clock });
    },
  };
}

test('the memory store answers as the model, whatever is called in whatever order', async () => {
  await agreesWithModel(memory, { numRuns: 1_500, maxCommands: 60, evicts: false });
});
