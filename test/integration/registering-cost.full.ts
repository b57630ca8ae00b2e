import { afterEach, expect, it } from '@jest/globals';
import { DiscoveryService } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { MemoryLockStore, SchedulerLockService } from '../../lib/index.js';
import { closeApps, startApp } from './app.js';

afterEach(closeApps);

/** Leases in memory, with a key for each name, as Redis has them. Counts the names that it is asked about. */
class KeyedStore extends MemoryLockStore {
  asked = 0;

  sharedKeys(names: readonly string[]): string[] {
    this.asked += names.length;
    return [];
  }
}

type Register = (locks: SchedulerLockService, job: string) => void;

const JOBS = 300;

/** How many jobs are looked at, and how many names, while so many are registered. */
async function workOf(count: number, register: Register): Promise<{ looks: number; names: number }> {
  const store = new KeyedStore();
  const app = await startApp([], { store });
  const [registry, locks] = [app.get(SchedulerRegistry), app.get(SchedulerLockService)];
  let looks = 0;
  const discovery = app.get(DiscoveryService);
  for (const method of ['getCronJobs', 'getInterval', 'getIntervals'] as const) {
    const original: (...args: never[]) => unknown = registry[method].bind(registry);
    Object.assign(registry, {
      [method]: (...args: never[]) => {
        const found = original(...args);
        looks += Array.isArray(found) ? found.length : 1;
        return found;
      },
    });
  }
  const providers = discovery.getProviders.bind(discovery);
  discovery.getProviders = (...args) => {
    const found = providers(...args);
    looks += found.length;
    return found;
  };
  store.asked = 0;
  for (let n = 0; n < count; n++) register(locks, `job-${n}`);
  const work = { looks, names: store.asked };
  await app.close();
  return work;
}

it.each<[what: string, register: Register]>([
  ['cron jobs', (locks, job) => void locks.cron(job, '0 3 * * *', () => undefined)],
  ['intervals', (locks, job) => locks.interval(job, '1h', () => undefined)],
  [
    'jobs that share a lock',
    (locks, job) => void locks.cron(job, '0 3 * * *', { lock: 'one', wait: '1m' }, () => undefined),
  ],
])('a new job is not compared with all others: %s', async (_what, register) => {
  const { looks, names } = await workOf(JOBS, register);
  // From time to time jobs that were deleted are looked for: when there are twice as many as then.
  expect(looks).toBeLessThan(JOBS * 10);
  expect(names).toBeLessThan(JOBS * 10);
});
