import type { JobFacts, KnownBy, TickFinder } from '../../../../lib/insight/facts.js';
import type { RunInfo } from '../../../../lib/insight/types.js';
import { CronTicks } from '../../../../lib/schedule/cron-ticks.js';
import type { KnownJob, MissEntry } from '../../../../lib/contract/history-store.js';
import { CronTime } from '../../schedule/support/cron-time.js';

/** A time of the night on which all tests look. */
export const at = (time: string, day = 22): number =>
  Date.parse(`2026-11-${String(day).padStart(2, '0')}T${time.length === 5 ? `${time}:00` : time}Z`);

/** A nightly job. */
export const JOB: KnownJob = {
  job: 'Invoices.send',
  lock: 'invoices',
  kind: 'cron',
  schedule: '0 3 * * *',
  timeZone: 'UTC',
  enabled: true,
  overdue: 60_000,
};

export const INTERVAL: KnownJob = {
  job: 'Invoices.poll',
  lock: 'poll',
  kind: 'interval',
  interval: 600_000,
  enabled: true,
  overdue: 60_000,
};

export const BY_HAND: KnownJob = {
  job: 'Invoices.resend',
  lock: 'resend',
  kind: 'hand',
  enabled: true,
  overdue: 60_000,
};

const found = new Map<string, CronTicks>();

/** The dates as `cron` has them. */
export const ticks: TickFinder = (schedule, timeZone) => {
  const key = JSON.stringify([schedule, timeZone]);
  const dates = found.get(key) ?? new CronTicks(new CronTime(schedule, timeZone));
  found.set(key, dates);
  return dates;
};

/** An instance that is up since the day before. */
export const by = (instance: string, more: Partial<KnownBy> = {}, job: KnownJob = JOB): KnownBy => ({
  instance,
  state: 'up',
  startedAt: at('12:00', 21),
  seenAt: at('03:09:50'),
  job,
  ...more,
});

/** A run that began at a time, of a tick if there is one. */
export function run(startedAt: number, more: Partial<RunInfo> = {}): RunInfo {
  const goesOn = more.outcome === 'running' || more.outcome === 'interrupted';
  const { endedAt = startedAt + 12_000 } = more;
  return {
    lock: 'invoices',
    job: 'Invoices.send',
    fencingToken: startedAt * 1_000,
    instance: 'api-1',
    startedAt,
    outcome: 'completed',
    ...(!goesOn && { endedAt, duration: endedAt - startedAt }),
    ...more,
  };
}

export const miss = (instance: string, reason: string, more: Partial<MissEntry> = {}): MissEntry => ({
  type: 'miss',
  lock: 'invoices',
  job: 'Invoices.send',
  tick: at('03:00'),
  instance,
  at: at('03:04:40'),
  ...(reason === 'store-unavailable' && { until: at('03:04:02') }),
  reason,
  count: 1,
  ...more,
});

/** At ten past three: three instances are up, and last night's run has completed. */
export const facts = (more: Partial<JobFacts> = {}): JobFacts => ({
  known: JOB,
  time: at('03:10'),
  knownBy: [by('api-1'), by('api-2'), by('api-3')],
  runs: [],
  others: [],
  misses: [],
  asOf: more.time ?? at('03:10'),
  since: at('03:00', 1),
  ticks,
  ...more,
});

/** The run of the night before. */
export const lastNight = run(at('03:00', 21), { tick: at('03:00', 21), attempt: 1 });
/** The run of this night. */
export const tonight = (more: Partial<RunInfo> = {}): RunInfo =>
  run(at('03:00'), { tick: at('03:00'), attempt: 1, ...more });
