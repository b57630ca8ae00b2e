import { openStore } from '../../../lib/cli/open.js';
import { run as runShell } from '../../../lib/cli/run.js';
import { ticksOf } from '../../../lib/cli/ticks.js';
import { systemClock } from '../../../lib/clock.js';
import type { RedisLockStore } from '../../../lib/stores/redis/index.js';
import type { SqlStore } from '../../support/database.js';
import { projectRoot } from '../../support/machine.js';

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

/** What a command of the shell has said. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command on the store at a URL. */
export async function shell(url: string, ...argv: string[]): Promise<Said> {
  let [out, err] = ['', ''];
  const code = await runShell(argv, {
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    env: { SCHEDULER_LOCK_URL: url },
    clock: systemClock,
    version: '0',
    open: openStore,
    ticks: () => ticksOf(projectRoot),
    onInterrupt: () => undefined,
  });
  return { code, out, err };
}

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
