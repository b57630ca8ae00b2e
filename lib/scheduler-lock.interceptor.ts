import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from './clock.js';
import { LockNotAcquiredError, LockStateError, StoreUnavailableError } from './errors.js';
import type { JobStart } from './job-start.js';
import type { RunResult } from './lease/lock-call.js';
import { displayName } from './lock-name.js';
import { FollowUps } from './schedule/follow-ups.js';
import type { HandOver } from './schedule/term.js';
import type { JobSchedule } from './schedule/job-schedule.js';
import type { JobState } from './schedule/made-jobs.js';
import type { JobSettings } from './scheduler-lock.options-check.js';
import { SchedulerLockService } from './scheduler-lock.service.js';

/** One guarded method of one instance, as the explorer has resolved it. */
export interface BoundJob {
  readonly job: string;
  readonly name: string | ((...args: never[]) => unknown);
  readonly settings: JobSettings;
  /** When the scheduler fires it, if it does. */
  readonly schedule: JobSchedule | undefined;
  /** Fires the method as the scheduler does, for a given start. */
  readonly fire: (start: JobStart) => unknown;
  /** What has become of its cron job on this instance. */
  readonly state: () => JobState;
}

/** A call that the scheduler fired; `start` is given if it is fired again. */
export interface ScheduledCall {
  readonly start?: JobStart | undefined;
}

/** One call of a guarded method through its lock: take it, run, give it back. */
@Injectable()
export class SchedulerLockInterceptor implements OnModuleDestroy {
  readonly #logger = new Logger('SchedulerLock');
  readonly #followUps = new FollowUps(systemClock, (error) => this.#logger.error(error));

  constructor(private readonly locks: SchedulerLockService) {}

  /**
   * @param scheduled given if the scheduler fired this call
   * @param proceed runs the method itself
   * @returns what the method returns, or `undefined` if it was skipped
   * @throws LockNotAcquiredError for a call by hand that was skipped, with `onSkip: 'throw'`
   */
  async intercept(
    bound: BoundJob,
    args: readonly unknown[],
    scheduled: ScheduledCall | undefined,
    proceed: () => unknown,
  ): Promise<unknown> {
    const { job, name } = bound;
    // What a name function returns is judged by the service: a name that is not valid is skipped. What it throws
    // rejects the call, and nothing runs.
    const lockName = typeof name === 'string' ? name : (Reflect.apply(name, undefined, args) as string);
    const start = scheduled === undefined ? undefined : this.#followUps.begin(bound, scheduled.start);
    const again = scheduled?.start !== undefined;
    // Nobody but the store knows whether a tick that is fired again was started meanwhile.
    const settings = again ? { ...bound.settings, onStoreError: 'skip' as const } : bound.settings;
    const call = { name: lockName, job, settings, scheduled: scheduled !== undefined, start };
    let began = false;
    let result: RunResult<unknown>;
    try {
      result = await this.locks.execute(call, () => {
        began = true;
        return proceed();
      });
    } catch (error) {
      // With `onStoreError: 'throw'` the call rejects, and its tick is missed all the same.
      if (!began && start !== undefined && isStoreError(error))
        this.#followUps.ended(bound, start, { ran: false, reason: 'store-unavailable' });
      throw error;
    } finally {
      if (start !== undefined) bound.schedule?.prepare(systemClock.now());
    }
    if (start !== undefined) this.#followUps.ended(bound, start, result);
    if (result.ran) return result.value;
    if (settings.onSkip === 'throw' && scheduled === undefined) {
      throw new LockNotAcquiredError(displayName(lockName), { ...result, cause: result.error });
    }
    return undefined;
  }

  /** Runs the newest tick of a job if nobody has (`catchUp`), or if its run was interrupted (`rerun`): at the start. */
  catchUp(bound: BoundJob): void {
    this.#followUps.catchUp(bound);
  }

  /** The same for an instance that runs the jobs of the fleet from now on: ticks that nobody started, without `catchUp` too. */
  lead(jobs: readonly BoundJob[], handOver: HandOver): void {
    this.#followUps.lead(jobs, handOver);
  }

  onModuleDestroy(): void {
    this.#followUps.stop();
  }
}

function isStoreError(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof LockStateError;
}
