import { CronTime } from 'cron';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import type { KnownJob } from '../../../lib/contract/history-store.js';
import { ticksFor } from '../../../lib/schedule/cron-ticks.js';

export const MANY_JOBS = 500;
export const MANY_INSTANCES = 1_000;

/** How the jobs are: all well, with runs that are kept, or all overdue, as after a night without the store. */
export const SCENARIOS = ['all well', 'all overdue'] as const;

interface Fleet {
  readonly jobs: number;
  readonly instances: number;
  /** How many of the instances are up. The others were shut down. */
  readonly up: number;
  readonly scenario: (typeof SCENARIOS)[number];
  /** How many runs of each job the store remembers. @default 10 */
  readonly runs?: number;
}

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
/** One deploy, ms: with each the list of jobs is another one. */
const DEPLOYS = 14;
/** Runs of each job, if nothing else is asked for. */
const RUNS = 10;
const KEPT = { count: 100, age: 30 * DAY };

/** A day of jobs, hourly ones and those of every ten minutes. */
const scheduleOf = (n: number): string =>
  n % 3 === 0 ? `${n % 60} ${n % 24} * * *` : n % 3 === 1 ? `${n % 60} * * * *` : `${n % 10}-59/10 * * * *`;

const jobOf = (n: number): KnownJob => ({
  job: `Jobs${n % 40}.job${n}`,
  lock: `lock-of-job-${n}`,
  kind: 'cron',
  schedule: scheduleOf(n),
  timeZone: 'UTC',
  enabled: true,
  overdue: MINUTE,
});

/** Fills a store with what such a fleet tells it. */
export async function seed(
  url: string,
  { jobs: count, instances, up, scenario, runs = RUNS }: Fleet,
): Promise<void> {
  const store = new RedisLockStore(url);
  await store.init();
  const now = Date.now();
  const jobs = Array.from({ length: count }, (_, n) => jobOf(n));
  const dates = jobs.map(({ schedule = '' }) => ticksFor(new CronTime(schedule, 'UTC')));
  for (let n = 0; n < instances; n++) {
    const left = n < instances - up;
    const deploy = Math.floor((n * DEPLOYS) / instances);
    const startedAt = now - 7 * DAY + (n * (7 * DAY - HOUR)) / instances;
    const list = jobs.slice(0, count - DEPLOYS + deploy + 1);
    await store.history.beat({
      instance: `api-7f9c${n}-${(n * 7_919).toString(36)}:1:52ad01fe`,
      startedAt,
      // They have to be up as long as the benchmark takes.
      every: 6 * HOUR,
      version: `1.${deploy}.0`,
      clockOffset: (n % 5) - 2,
      leads: [],
      kept: KEPT,
      catalogue: `list-${deploy}`,
      jobs: list,
      left,
    });
  }
  // Also those ticks were started that come while it is measured.
  if (scenario === 'all well')
    for (const [n, { job, lock = '' }] of jobs.entries())
      await runsOf(store, { job, name: lock, newest: dates[n]?.newest(now + HOUR) ?? now, runs });
  await store.close();
}

async function runsOf(
  store: RedisLockStore,
  { job, name, newest, runs }: { job: string; name: string; newest: number; runs: number },
): Promise<void> {
  for (let n = runs; n > 0; n--) {
    const tick = newest - (n - 1) * MINUTE;
    const lease = { name, token: `${name}-${n}`, ttl: 30_000, holder: 'api-1', job, tick };
    const start = { schedule: '* * * * * (UTC)', rerun: 0, maxClockSkew: 2 * HOUR, history: true };
    const grant = await store.acquire({ ...lease, ...start });
    if (!grant.acquired) throw new Error(`${name}: ${grant.reason}`);
    const { fencingToken } = grant;
    const record = { kept: KEPT, duration: 1_234 };
    await store.release({ ...lease, fencingToken, attempt: 1 }, { outcome: 'completed', record });
  }
}
