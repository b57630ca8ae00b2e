import type { KnownJob } from '../../../lib/contract/history-store.js';
import { Insight } from '../../../lib/insight/insight.js';
import { servePage } from '../../../lib/show/cli/serve.js';
import { Fleet, HOUR, MINUTE, NOW } from './fleet.js';

/*
 * Staged incidents: fleets in which one thing has happened, as the page of the shell shows them.
 */

const cron = (job: string, schedule: string): KnownJob => ({
  job,
  lock: job,
  kind: 'cron',
  schedule,
  timeZone: 'UTC',
  enabled: true,
  overdue: MINUTE,
});

/** Each tenth job once a day, at 17:00; the others each hour, at minutes of their own. */
const daily = (n: number): boolean => n % 10 === 3;
const minuteOf = (n: number): number => (n * 7) % 60;
const jobOf = (n: number): KnownJob =>
  cron(
    `${['Invoice', 'Mail', 'Report', 'Export', 'Search'][n % 5]}Jobs.run${n + 1}`,
    daily(n) ? '0 17 * * *' : `${minuteOf(n)} * * * *`,
  );
const TEA = NOW - (NOW % HOUR) - 3 * HOUR;

const INSTANCES = ['api-1', 'api-2', 'worker-1'];
/** Between two looks at the time, ms. */
const STEP = MINUTE / 2;

interface Incident {
  /** The time in which the store was away. */
  readonly outage?: { readonly from: number; readonly to: number };
  /** When version 2.1.0 came, with which half of the jobs fail. */
  readonly deploy?: number;
}

/** Six hours of a fleet. */
export async function staged(count: number, incident: Incident = {}): Promise<Fleet> {
  const fleet = new Fleet();
  const jobs = Array.from({ length: count }, (_, n) => jobOf(n));
  for (let at = fleet.clock.now() + STEP - (fleet.clock.now() % STEP); at <= NOW; at += STEP) {
    await fleet.to(at);
    const { outage = { from: NOW, to: NOW } } = incident;
    const isAway = at >= outage.from && at < outage.to;
    const due = jobs.filter((_, n) => (daily(n) ? at === TEA : at % HOUR === minuteOf(n) * MINUTE));
    if (!isAway) await beats(fleet, at, jobs, incident);
    for (const [n, { job }] of due.entries())
      if (!isAway) await runs(fleet, at, job, n, incident);
      else
        for (const instance of INSTANCES)
          await fleet.miss(job, at, instance, 'store-unavailable', { since: outage.from, until: outage.to });
  }
  await fleet.to(NOW);
  return fleet;
}

async function beats(
  fleet: Fleet,
  at: number,
  jobs: KnownJob[],
  { deploy = Infinity }: Incident,
): Promise<void> {
  const made =
    at >= deploy
      ? { version: '2.1.0', startedAt: deploy, left: false }
      : { version: '2.0.0', startedAt: NOW - 20 * HOUR, left: at >= deploy - STEP };
  for (const instance of INSTANCES)
    await fleet.beat({ instance: `${instance}${at >= deploy ? '-b' : ''}`, jobs, ...made });
}

/** Each second job fails in the new version. */
async function runs(
  fleet: Fleet,
  at: number,
  job: string,
  n: number,
  { deploy = Infinity }: Incident,
): Promise<void> {
  const isNew = at >= deploy;
  const end = await fleet.start(job, at, `${INSTANCES[n % 3]}${isNew ? '-b' : ''}`);
  const isBroken = isNew && Number(job.replaceAll(/\D/g, '')) % 2 === 0;
  if (isBroken) await end('failed', 300, "TypeError: Cannot read properties of undefined (reading 'rate')");
  else await end('completed', 4 * MINUTE);
}

/** The page of a fleet, by the shell. */
export async function shown(
  fleet: Pick<Fleet, 'store' | 'clock'>,
): Promise<Awaited<ReturnType<typeof servePage>>> {
  const insight = new Insight(fleet.store);
  const source = {
    insight: async () => insight,
    clock: fleet.clock,
    label: () => 'Redis db:6379',
    traceUrl: undefined,
  };
  return servePage(source, 0);
}
