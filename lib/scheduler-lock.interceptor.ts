import { Injectable } from '@nestjs/common';
import { systemClock } from './clock.js';
import { LockNotAcquiredError } from './errors.js';
import { displayName } from './lock-name.js';
import type { JobSchedule } from './schedule/job-schedule.js';
import { SchedulerLockService } from './scheduler-lock.service.js';
import type { JobSettings } from './scheduler-lock.options-check.js';

/** One guarded method of one instance, as the explorer has resolved it. */
export interface BoundJob {
  readonly job: string;
  readonly name: string | ((...args: never[]) => unknown);
  readonly settings: JobSettings;
  /** When the scheduler fires it, if it does. */
  readonly schedule: JobSchedule | undefined;
}

/** One call of a guarded method through its lock: take it, run, give it back. */
@Injectable()
export class SchedulerLockInterceptor {
  constructor(private readonly locks: SchedulerLockService) {}

  /**
   * @param proceed runs the method itself
   * @returns what the method returns, or `undefined` if it was skipped
   * @throws LockNotAcquiredError for a call by hand that was skipped, with `onSkip: 'throw'`
   */
  async intercept(
    { job, name, settings, schedule }: BoundJob,
    args: readonly unknown[],
    scheduled: boolean,
    proceed: () => unknown,
  ): Promise<unknown> {
    // What a name function returns or throws is judged by the service: a name that is no text is skipped.
    const lockName = typeof name === 'string' ? name : (Reflect.apply(name, undefined, args) as string);
    const fires = scheduled && settings.oncePerTick ? schedule : undefined;
    const { maxClockSkew } = settings;
    const start = fires === undefined ? undefined : { ...fires.startAt(systemClock.now()), maxClockSkew };
    const call = { name: lockName, job, settings, scheduled, start };
    const result = await this.locks.execute(call, proceed).finally(() => fires?.prepare(systemClock.now()));
    if (result.ran) return result.value;
    if (settings.onSkip === 'throw' && !scheduled) {
      throw new LockNotAcquiredError(displayName(lockName), { ...result, cause: result.error });
    }
    return undefined;
  }
}
