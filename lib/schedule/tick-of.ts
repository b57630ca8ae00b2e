import { systemClock } from '../base/clock.js';
import { SchedulerLockConfigError } from '../base/errors.js';
import { ticksFor } from './cron-ticks.js';
import type { CronTimeLike } from './scheduler-parts.js';

/**
 * The tick for which your own cron job fires, as decorated jobs have it: the newest date of its expression and zone that has
 * come. Unlike `lastDate()`, it is the same number on every instance. Call it first thing in `onTick`:
 *
 * ```ts
 * locks.run('report', { tick: tickOf(job) }, () => report());
 * ```
 *
 * @param job a `CronJob` of the package `cron`. Give it a `timeZone`, so that all instances agree
 * @returns epoch milliseconds; `undefined` if none of its dates has come: `run()` treats that as a call by hand
 * @throws SchedulerLockConfigError if `job` is no cron job
 */
export function tickOf(job: { readonly cronTime: CronTimeLike }): number | undefined {
  const cronTime = (job as { readonly cronTime?: Partial<CronTimeLike> } | null | undefined)?.cronTime;
  if (typeof cronTime?.getNextDateFrom !== 'function') {
    throw new SchedulerLockConfigError([
      `tickOf(): ${job === null ? 'null' : typeof job} is no cron job. Give a CronJob of the package cron.`,
    ]);
  }
  return ticksFor(cronTime as CronTimeLike).newest(systemClock.now());
}
