import type { ShownJob } from '../insight/beats.js';
import type { JobSchedule } from '../schedule/job-schedule.js';
import { latest } from '../schedule/spread.js';
import { AND } from '../schedule/tick-finder.js';
import type { KnownJob } from '../contract/history-store.js';
import type { BoundJob } from './bound-job.js';
import type { LockHost } from './lock-host.js';
import type { Watch } from '../insight/watch.js';

/** A job, as this instance shows it to the fleet. */
export function shownJob(bound: BoundJob, host: LockHost): ShownJob {
  const { job, name, schedule, settings } = bound;
  const { clock } = host.settings;
  const now = clock.now();
  const next = schedule?.every === undefined ? finite(schedule?.next(now)) : undefined;
  return {
    job,
    ...(typeof name === 'string' ? { lock: name } : undefined),
    ...describe(schedule),
    enabled: settings.enabled,
    // One that has no dates left has stopped by itself.
    ...(bound.state() === 'stopped' && next !== undefined && { stopped: true }),
    overdue: overdueAfter(bound),
    ...(settings.atLeast > 0 && { atLeast: settings.atLeast }),
    ...(host.takesCallsOf(bound) && { takesCalls: true }),
    next,
    addedAt: schedule?.madeAt && Math.round(now - (clock.monotonic() - schedule.madeAt)),
  };
}

/** A job, as this instance watches it. */
export function watchedJob(bound: BoundJob, host: LockHost): Parameters<Watch['add']>[0] {
  const { job, name, schedule, settings, state } = bound;
  return {
    job,
    lock: typeof name === 'string' ? name : '',
    comesLate: settings.catchUp !== false,
    grace: schedule !== undefined && overdueAfter(bound),
    interval: schedule?.every,
    shown: () => shownJob(bound, host),
    dates: {
      newest: (at) => schedule?.newestBefore(at),
      next: (at) => schedule?.nextAfter(at) ?? Infinity,
    },
    isThere: () => state() !== 'gone',
    initialDelay: schedule?.initialDelay ?? 0,
  };
}

function describe(
  schedule: JobSchedule | undefined,
): Pick<KnownJob, 'kind' | 'schedule' | 'timeZone' | 'interval'> {
  if (schedule?.every !== undefined) return { kind: 'interval', interval: schedule.every };
  const [first, ...more] = schedule?.texts ?? [];
  if (first === undefined) return { kind: 'hand' };
  // Several cron jobs may fire one method.
  const expressions = [first, ...more].map(({ expression }) => expression);
  return { kind: 'cron', schedule: expressions.join(AND), timeZone: first.zone };
}

/** How long after its tick a job counts as overdue, ms. A call may stand in line for all of its `wait`, and begin later by design. */
function overdueAfter({ job, settings }: BoundJob): number | false {
  const { overdue, wait = 0, spread, oncePerTick, history } = settings;
  // Without these, nobody knows which ticks were started, or which found a run.
  return overdue === false || !oncePerTick || history !== true
    ? false
    : Math.max(overdue, wait) + (spread ? latest(spread, job) : 0);
}

const finite = (time: number | undefined): number | undefined =>
  time === undefined || !Number.isFinite(time) ? undefined : time;
