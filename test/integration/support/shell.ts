import type { RedisLockStore } from '../../../lib/stores/redis/index.js';
import type { SqlStore } from '../../support/database.js';

export const KEPT = { count: 100, age: 86_400_000 };
export const JOB = 'RefreshJobs.refresh';
const TICK = Date.UTC(2026, 0, 1);
export const KNOWN = {
  kind: 'cron',
  schedule: '0 0 1 1 *',
  timeZone: 'UTC',
  enabled: true,
  overdue: false,
} as const;
export const BEAT = {
  instance: 'api-1:1:aa',
  startedAt: TICK,
  every: 30_000,
  leads: [],
  catalogue: 'x',
  left: false,
  next: [null],
  last: [TICK],
};
export const MISS = {
  name: JOB,
  job: JOB,
  instance: BEAT.instance,
  tick: TICK,
  reason: 'not-fired',
  count: 1,
};

/** An instance that is up, and whose job has failed, or has completed. */
export async function tell(
  store: RedisLockStore | SqlStore,
  outcome: 'failed' | 'completed' = 'failed',
): Promise<void> {
  await store.init();
  await store.history.init();
  await store.history.beat({ ...BEAT, jobs: [{ job: JOB, lock: JOB, ...KNOWN }] });
  const request = { name: JOB, token: 'token', ttl: 60_000, holder: 'api-1:1:aa', job: JOB, tick: TICK };
  const grant = await store.acquire({ ...request, history: true });
  if (!grant.acquired) throw new Error(`refused: ${grant.reason}`);
  await store.release(
    { ...request, fencingToken: grant.fencingToken, attempt: 1 },
    {
      outcome,
      record: { kept: KEPT, duration: 1_200, ...(outcome === 'failed' && { error: 'no mail server' }) },
    },
  );
  await store.close();
}
