import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { type Binding, isSameObject } from './decorators/locked-method.js';
import { LockNotAcquiredError, SchedulerLockConfigError } from '../base/errors.js';
import { type JobStart, retryIn } from '../base/job-start.js';
import { type Lock, outsideOfLocks } from '../lock/current-lock.js';
import type { LockCall, RunResult } from '../lock/lock-call.js';
import { isTaken } from '../lock/reports.js';
import { displayName } from '../base/lock-name.js';
import { MissedTicks, type TickResult } from '../schedule/ticks/missed-ticks.js';
import { type ScheduledCall, scheduledCall } from '../schedule/scheduled-call.js';
import type { QueueSettings } from './options/parts.js';
import { checkKey, writeArguments } from '../lock/queue/payload.js';
import type { CallToQueue } from '../lock/queue/queues.js';
import type { Annotation, ControlAct } from '../contract/history-store.js';
import { counted, show } from '../base/wording.js';
import type { BoundJob } from './bound-job.js';
import { InsightHost } from './insight-host.js';
import { LockHost } from './lock-host.js';

/** A run that a person has asked for. */
interface HandRun {
  readonly args: readonly unknown[];
  readonly by: ControlAct;
  /** Whether it goes through a pause. */
  readonly through: boolean | undefined;
  readonly began: (lock: Lock) => void;
}

/**
 * No `NestInterceptor`: a scheduler calls methods, not routes, so what guards a method calls it. It wraps one call of the method in its
 * lock: takes the lock, runs the method, releases the lock.
 */
@Injectable()
export class SchedulerLockInterceptor implements OnModuleDestroy {
  constructor(
    private readonly host: LockHost,
    private readonly insight: InsightHost,
    private readonly missedTicks: MissedTicks,
  ) {}

  /** What happens when a method is called that is bound to its lock. */
  binding(bound: BoundJob, instance: object, key: string | symbol): Binding {
    const isOf = (fired: object): boolean => isSameObject(fired, instance);
    return (proceed, args) => this.intercept(bound, args, scheduledCall(isOf, key), proceed);
  }

  /**
   * @param scheduled given if the scheduler fired this call, perhaps as another try after the store failed
   * @param proceed runs the method itself
   * @returns the result of the method, or `undefined` if the call was skipped
   * @throws LockNotAcquiredError for a call by hand that was skipped, with `onSkip: 'throw'`
   * @throws SchedulerLockConfigError if the function that makes a name or a key of the arguments fails
   */
  async intercept(
    bound: BoundJob,
    args: readonly unknown[],
    scheduled: ScheduledCall | undefined,
    proceed: () => unknown,
  ): Promise<unknown> {
    const { job, settings } = bound;
    const call = { name: lockOf(bound, args), job, settings };
    if (scheduled !== undefined) return this.#fired(bound, call, scheduled, proceed);
    const result = await this.#byHand(bound, { ...call, kind: 'by-hand' }, args, proceed);
    if (result.ran) return result.value;
    if (settings.onSkip === 'throw' && result.reason !== 'queued') {
      throw new LockNotAcquiredError(displayName(call.name), { ...result, cause: result.error });
    }
    return undefined;
  }

  /** Runs a job now, for a person, never inside of a run here that holds the lock. @param began called when its run begins */
  runNow(
    bound: BoundJob,
    { args, by, through, began }: HandRun,
  ): { readonly lock: string; readonly result: Promise<RunResult<unknown>> } {
    const lock = lockOf(bound, args);
    const settings = { ...bound.settings, wait: 0, onStoreError: 'skip' as const };
    const started = { trigger: 'control', by } as const;
    const call: LockCall = { kind: 'by-hand', name: lock, job: bound.job, settings, started, through };
    const run = (): Promise<RunResult<unknown>> =>
      this.host.execute(call, (own) => {
        began(own);
        return bound.call(args);
      });
    return { lock, result: outsideOfLocks(run) };
  }

  /** A call by hand: queued if it finds its lock taken, where the options say so. */
  async #byHand(
    bound: BoundJob,
    call: LockCall,
    args: readonly unknown[],
    proceed: () => unknown,
  ): Promise<RunResult<unknown>> {
    if (bound.queue === undefined) return this.host.execute(call, proceed);
    // What cannot be queued is found out before anything is sent.
    const queued = callToQueue(bound.job, bound.queue, args);
    const result = await this.host.execute({ ...call, kind: 'queueable' }, proceed);
    return result.ran || !isTaken(result) ? result : this.host.queues.enqueue(call, queued);
  }

  /** A call by the scheduler. */
  async #fired(
    bound: BoundJob,
    made: Omit<LockCall, 'kind'>,
    scheduled: ScheduledCall,
    proceed: () => unknown,
  ): Promise<unknown> {
    // The scheduler records a job in the same turn in which it makes it, so one turn later it is known.
    if (bound.schedule?.isBeingMade) await Promise.resolve();
    const start = this.missedTicks.begin(bound, scheduled.start);
    scheduled.start = start;
    await this.#spread(bound, scheduled);
    // Only the store knows whether a tick that is fired again was started meanwhile.
    const settings = scheduled.again ? { ...bound.settings, onStoreError: 'skip' as const } : bound.settings;
    let attempt: number | undefined;
    const work = (lock: Lock): unknown => {
      ({ attempt } = lock);
      scheduled.over = true;
      this.insight.presence?.began(bound.job, start?.tick, lock.fencingToken === undefined);
      return proceed();
    };
    try {
      const started = triggerOf(scheduled, start);
      const call: LockCall = {
        ...made,
        kind: 'fired',
        settings,
        start,
        started,
        brief: this.#isBrief(bound),
      };
      const result = await this.host.execute(call, work);
      this.#ended(bound, start, result);
      return result.ran ? result.value : undefined;
    } catch (error) {
      // Where it ended in another way, or the store will not have it repeated, the store says so.
      this.#ended(bound, start, {
        ran: true,
        retryIn: retryIn(start, attempt, this.host.settings.clock.now()),
      });
      throw error;
    }
  }

  /** A call that the scheduler itself fires waits for its moment; one that this library fires again has had it. */
  async #spread(
    { job, schedule, settings: { spread } }: BoundJob,
    { start, again }: ScheduledCall,
  ): Promise<void> {
    if (spread === undefined || again || start?.tick === undefined || schedule === undefined) return;
    await this.host.spreader.wait(spread, job, start.tick, schedule.next(start.tick));
  }

  /** Whether no facts about a refusal decide if its tick is asked for again: see `ticks/`. */
  #isBrief({ settings: { rerun, retry, catchUp } }: BoundJob): boolean {
    return rerun === 0 && retry === undefined && catchUp === false && this.host.settings.leader === undefined;
  }

  #ended(bound: BoundJob, start: JobStart | undefined, result: TickResult): void {
    if (start === undefined) return;
    if (!result.ran) this.insight.presence?.refused(bound.job, start.tick, result);
    // Searches for the newest tick ahead of the next call.
    bound.schedule?.startAt(this.host.settings.clock.now());
    this.missedTicks.ended(bound, start, result);
  }

  onModuleDestroy(): void {
    this.missedTicks.stop();
  }
}

function callToQueue(
  job: string,
  { key, max, redeliver }: QueueSettings,
  args: readonly unknown[],
): CallToQueue {
  const text = typeof key === 'function' ? checkKey(job, made(job, 'queue.key', key, args)) : key;
  return { key: text, args: writeArguments(job, args), max, redeliver };
}

/** The lock of a call. The runner checks what a function has made: a call with an invalid name is skipped. */
const lockOf = ({ job, name }: BoundJob, args: readonly unknown[]): string =>
  typeof name === 'string' ? name : (made(job, 'name', name, args) as string);

/** What a function of the options makes of the arguments of a call. If it fails, nothing runs. */
function made(
  job: string,
  option: string,
  make: (...args: never[]) => unknown,
  args: readonly unknown[],
): unknown {
  try {
    return Reflect.apply(make, undefined, args);
  } catch (error) {
    const what = `${job}: ${option}: its function threw for a call with ${counted(args.length, 'argument')}`;
    throw new SchedulerLockConfigError(
      [
        `${what}: ${error instanceof Error ? `${error.name}: ${error.message}` : show(error)}. Nothing was run.`,
      ],
      { cause: error },
    );
  }
}

/** What started the call, where its tick does not say so. */
function triggerOf({ again }: ScheduledCall, start: JobStart | undefined): Annotation | undefined {
  if (again) return CAUGHT_UP;
  return start?.tick === undefined ? BY_SCHEDULE : undefined;
}

const CAUGHT_UP: Annotation = { trigger: 'catch-up' };
const BY_SCHEDULE: Annotation = { trigger: 'schedule' };
