import { expect, test } from '@jest/globals';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

test('names that are made up per call are forgotten a day after their leases, those of jobs and live leases are not', async () => {
  const clock = new ManualClock();
  const store = new MemoryLockStore({ clock });
  const take = async (name: string, fields = {}): Promise<void> => {
    const request = { name, token: `token of ${name}`, ttl: HOUR, holder: 'host:1:abc', ...fields };
    expect(await store.acquire(request)).toMatchObject({ acquired: true });
  };
  await take('nightly', { job: 'Jobs.nightly', tick: clock.now() });
  await take('long', { ttl: 30 * DAY });
  for (let i = 0; i < 1_000; i++) await take(`import-${i}`);
  await clock.advance(DAY);
  await take('within a day');
  // Their leases have been over for an hour less than a day.
  expect(await store.inspect()).toHaveLength(1_003);
  await clock.advance(DAY);
  for (let i = 0; i < 1_003; i++) await take(`export-${i}`);
  const names = (await store.inspect()).map(({ name }) => name);
  expect(names).toHaveLength(1_006);
  expect(names).toEqual(expect.arrayContaining(['nightly', 'long', 'within a day']));
});
