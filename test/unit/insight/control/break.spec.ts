import { expect, jest, test } from '@jest/globals';
import { Control } from '../../../../lib/insight/control/control.js';
import { told } from '../../../../lib/insight/control/told.js';
import { timesIn } from '../../../../lib/insight/times.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** The answer to whoever wants to end a lease of this lock. */
async function sentenceFor(lock: object): Promise<string> {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const info = { name: 'invoices', time: clock.now(), jobs: [], ...lock };
  jest.spyOn(store, 'inspect').mockResolvedValue([info as never]);
  const control = new Control(store, { clock, instance: 'shell' });
  const result = await control.break({
    lock: 'invoices',
    fencingToken: 5,
    actor: 'anna',
    reason: 'it hangs',
  });
  expect(result.result).toBe('gone');
  return told(result, timesIn()).sentence;
}

test.each([
  [{ state: 'free', fencingToken: 5 }, 'nobody has the lock invoices any more.'],
  [{ state: 'cooling-down', fencingToken: 5, holder: 'api-1' }, 'nobody has the lock invoices any more.'],
  [
    { state: 'held', fencingToken: 6, token: 'x', holder: 'api-1' },
    'that lease is over, and api-1 has the lock invoices by now, with fencing token 6.',
  ],
  // Another program has it, of which the store may know nothing, and our newest lease before that had this fencing token.
  [{ state: 'held' }, 'that lease is over, and somebody has the lock invoices by now.'],
  [
    { state: 'held', holder: 'batch-host' },
    'that lease is over, and batch-host has the lock invoices by now.',
  ],
  [
    { state: 'held', holder: 'batch-host', fencingToken: 5 },
    'that lease is over, and batch-host has the lock invoices by now.',
  ],
])('who has a lock instead of the lease that is to end is told: %j', async (lock, sentence) => {
  expect(await sentenceFor(lock)).toBe(`Nothing was changed: ${sentence}`);
});
