import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from './clock.js';
import { LockNotAcquiredError } from './errors.js';
import type { JobStart } from './job-start.js';
import type { RunResult } from './lease/lock-call.js';
import { displayName } from './lock-name.js';
import type { JobSchedule } from './schedule/job-schedule.js';
import { SecondChances } from './schedule/second-chances.js';
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
}

/** A call that the scheduler fired; `start` is given if it is fired again. */
export interface ScheduledCall {
  readonly start?: JobStart | undefined;
}

/** How long to wait for the scheduler to make its jobs, ms: other modules may be slow to start. */
const WAIT_FOR_JOBS = 1_000;
/** How often: a job that is not there after a minute is not made at all. */
const MAX_WAITS = 60;

/** What is remembered of a tick from try to try. */
interface FollowedStart extends JobStart {
  /** Another instance was running it. */
  readonly watching?: boolean;
  /** How often in a row the store did not answer. */
  readonly failures?: number;
  /** It is run by a new leader: the tick must not be lost because of the lease that its predecessor has left behind. */
  readonly handOver?: boolean;
}

/** One call of a guarded method through its lock: take it, run, give it back. */
@Injectable()
export class SchedulerLockInterceptor implements OnModuleDestroy {
  readonly #chances = new SecondChances(systemClock);
  readonly #logger = new Logger('SchedulerLock');

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
    const { job, name, settings } = bound;
    // What a name function returns is judged by the service: a name that is not valid is skipped. What it throws
    // rejects the call, and nothing runs.
    const lockName = typeof name === 'string' ? name : (Reflect.apply(name, undefined, args) as string);
    const schedule = scheduled !== undefined && settings.oncePerTick ? bound.schedule : undefined;
    const start = schedule === undefined ? undefined : (scheduled?.start ?? newStart(schedule, settings));
    if (start?.tick !== undefined) this.#chances.supersede(bound, start.tick);
    const call = { name: lockName, job, settings, scheduled: scheduled !== undefined, start };
    const result = await this.locks
      .execute(call, proceed)
      .finally(() => schedule?.prepare(systemClock.now()));
    if (start !== undefined) this.#followUp(bound, start, result);
    if (result.ran) return result.value;
    if (settings.onSkip === 'throw' && scheduled === undefined) {
      throw new LockNotAcquiredError(displayName(lockName), { ...result, cause: result.error });
    }
    return undefined;
  }

  /**
   * Runs the newest tick of a job if nobody has (`catchUp`), or if its run was interrupted (`rerun`): for the start of
   * an instance, or of a leader.
   *
   * @param maxAge how old a tick may be that a new leader runs though its job has no `catchUp`, milliseconds
   */
  catchUp(bound: BoundJob, maxAge?: number, tries = 0): void {
    const { schedule, settings } = bound;
    const limit = Math.max(maxAge ?? 0, settings.catchUp === false ? 0 : settings.catchUp);
    if (!schedule?.isCron || !settings.oncePerTick || (settings.rerun === 0 && limit === 0)) return;
    const start = newStart(schedule, settings);
    if (start.tick === undefined) {
      if (tries < MAX_WAITS)
        this.#chances.afterJobs(bound, WAIT_FOR_JOBS, () => this.catchUp(bound, maxAge, tries + 1));
      return;
    }
    const only = systemClock.now() - start.tick <= limit ? 'known' : 'interrupted';
    const again = { ...start, only, handOver: maxAge !== undefined } as const;
    if (only === 'known' || settings.rerun > 0) this.#fire(bound, again);
  }

  onModuleDestroy(): void {
    this.#chances.stop();
  }

  /** Notes when a tick that was refused may be worth another try. */
  #followUp(bound: BoundJob, start: FollowedStart, result: RunResult<unknown>): void {
    const { tick, watching = false, failures = 0, handOver = false } = start;
    if (result.ran || tick === undefined) return;
    const { settings } = bound;
    const running = result.tick === tick && result.finished === false;
    if (settings.rerun > 0 && running && result.expiresIn !== undefined) {
      const again = { ...start, watching: true, failures: 0 };
      this.#chances.afterLease(bound, tick, result.expiresIn, () => this.#fire(bound, again));
      return;
    }
    const notStarted = result.tick === undefined || result.tick < tick;
    if (handOver && notStarted && result.reason === 'held' && result.expiresIn !== undefined) {
      this.#chances.afterLease(bound, tick, result.expiresIn, () => this.#fire(bound, start));
      return;
    }
    const notOld = settings.catchUp !== false && systemClock.now() - tick <= settings.catchUp;
    const missed = notOld || (handOver && start.only === 'known');
    // `held` by this very process, by a call by hand or another job of this lock: nobody knows for how long.
    const inTheWay = watching && result.reason === 'held';
    if (!inTheWay && (result.reason !== 'store-unavailable' || !(missed || watching))) return;
    const only = watching ? ('interrupted' as const) : ('known' as const);
    const again = { ...start, only, failures: failures + 1 };
    this.#chances.afterOutage(bound, tick, failures, () => this.#fire(bound, again));
  }

  #fire(bound: BoundJob, start: JobStart): void {
    // As the scheduler does with what its jobs throw.
    Promise.resolve(bound.fire(start)).catch((error: unknown) => this.#logger.error(error));
  }
}

function newStart(schedule: JobSchedule, { maxClockSkew, rerun }: JobSettings): JobStart {
  const start = schedule.startAt(systemClock.now());
  return start.tick === undefined
    ? start
    : { ...start, maxClockSkew, ...(rerun > 0 ? { rerun } : undefined) };
}
