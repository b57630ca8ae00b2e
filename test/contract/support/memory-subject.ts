import type { LockStoreContractOptions } from '../cases/options.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import type { LockStore } from '../../../lib/index.js';

const LONGER_THAN_ANY_LEASE = 31 * 86_400_000;

/** The contract on the memory store: time is moved by hand, so nothing is waited for. */
export function memoryContract(): LockStoreContractOptions {
  let clock = new ManualClock();
  let current = new MemoryLockStore({ clock });
  return {
    create: () => {
      clock = new ManualClock();
      current = new MemoryLockStore({ clock });
      // What the suite talks to stays the same when the process behind it is started again.
      const store: LockStore = {
        keeps: current.keeps,
        acquire: (request) => current.acquire(request),
        extend: (leases) => current.extend(leases),
        release: (lease, options) => current.release(lease, options),
        pause: (name, pause) => current.pause(name, pause),
        resume: (name, pause) => current.resume(name, pause),
        hints: (process, called) => current.hints(process, called) ?? { open: false, close: () => undefined },
        get queuedCalls() {
          return current.queuedCalls;
        },
        get history() {
          return current.history;
        },
        inspect: (names) => current.inspect(names),
      };
      return { store, others: [store] };
    },
    inspects: true,
    lines: true,
    queuedCalls: true,
    history: true,
    hints: true,
    setClockBack: (_name, ms) => clock.setWallClock(clock.now() - ms),
    wait: (ms) => clock.advance(ms),
    // It keeps lock and side data together; a lock is gone, and its side data is not, when time has passed.
    forget: () => clock.advance(LONGER_THAN_ANY_LEASE),
    forgetAll: () => {
      current = new MemoryLockStore({ clock });
    },
  };
}
