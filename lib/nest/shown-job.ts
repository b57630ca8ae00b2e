import type { Clock } from '../base/clock.js';
import type { ShownJob } from '../insight/beats.js';
import type { JobSchedule } from '../schedule/job-schedule.js';
import type { KnownJob } from '../contract/history-store.js';
import type { BoundJob } from './bound-job.js';
import type { LockHost } from './lock-host.js';
import type { Presence } from '../insight/presence.js';

type ModuleSettings = LockHost['settings'];

/** A job, as this instance shows it to the fleet. */
export function shownJob(bound: BoundJob, host: LockHost): ShownJob {
  const { job, name, schedule, settings } = bound;
  const dates = schedule?.every === undefined ? datesOf(schedule, host.settings.clock) : NO_DATES;
  return {
    job,
    ...(typeof name === 'string' ? { lock: name } : undefined),
    ...describe(schedule),
    enabled: settings.enabled,
    // One that has no dates left has stopped by itself.
    ...(bound.state() === 'stopped' && dates.next !== undefined && { stopped: true }),
    overdue: overdueAfter(bound, host.settings),
    ...(settings.atLeast > 0 && { atLeast: settings.atLeast }),
    ...(host.takesCallsOf(bound) && { takesCalls: true }),
    ...dates,
  };
}

/** A job, as this instance watches it. */
export function watchedJob(bound: BoundJob, host: LockHost): Parameters<Presence['add']>[0] {
  const { job, name, schedule, settings, state } = bound;
  return {
    job,
    lock: typeof name === 'string' ? name : undefined,
    comesLate: settings.catchUp !== false,
    ttl: settings.ttl,
    grace: schedule !== undefined && overdueAfter(bound, host.settings),
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
  return { kind: 'cron', schedule: expressions.join(' and '), timeZone: first.zone };
}

/** How long after its tick a job counts as overdue, ms. A call may stand in line for all of its `wait`. */
function overdueAfter({ settings }: BoundJob, { insight }: ModuleSettings): number | false {
  const { overdue, wait = 0, oncePerTick, history } = settings;
  const grace = overdue ?? insight?.overdue ?? false;
  // Without these, nobody knows which ticks were started, or which found a run.
  return grace === false || !oncePerTick || history !== true ? false : Math.max(grace, wait);
}

const NO_DATES = { next: undefined, last: undefined };

/** The next fire time, and the newest one that has passed since the job was made. */
function datesOf(schedule: JobSchedule | undefined, clock: Clock): Pick<ShownJob, 'next' | 'last'> {
  if (schedule === undefined) return NO_DATES;
  const now = clock.now();
  const last = schedule.startAt(now).tick;
  const madeAt = schedule.madeAt === undefined ? -Infinity : now - (clock.monotonic() - schedule.madeAt);
  return { next: finite(schedule.next(now)), last: last !== undefined && last >= madeAt ? last : undefined };
}

const finite = (time: number | undefined): number | undefined =>
  time === undefined || !Number.isFinite(time) ? undefined : time;
