import { Injectable } from '@nestjs/common';
import { Switches } from '../insight/control/control.js';
import { parseDuration } from '../base/duration.js';
import { actOf, Desk } from '../insight/control/desk.js';
import { checkRun, LONGEST_WAIT } from '../insight/control/run-now.js';
import type { RunNowResult, RunRequest } from '../insight/control/types.js';
import type { Lock } from '../lock/current-lock.js';
import type { Skipped } from '../lock/lock-call.js';
import { outcomeOf } from '../lock/run.js';
import type { BoundJob } from './bound-job.js';
import { logError } from './log/log-phrases.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import type { ModuleSettings } from './options/check.js';
import { InsightHost } from './insight-host.js';
import { LockHost } from './lock-host.js';
import { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';

/**
 * What a person can do to jobs over the whole fleet: pause one and resume it, end a lease, run a job now, put dead letters back. Each action
 * is noted in the history of its lock, with who did it and why, and this application emits the event `controlled`. It checks no rights: guard
 * what calls it.
 *
 * All reject with `SchedulerLockConfigError` for bad arguments, and with `StoreUnavailableError` if the store does not answer.
 */
@Injectable()
export class SchedulerLockControl extends Switches {
  readonly #closing = new AbortController();
  #desk: Desk | undefined;

  /** @internal */
  constructor(
    private readonly host: LockHost,
    private readonly events: SchedulerLockEvents,
    private readonly insight: InsightHost,
    private readonly interceptor: SchedulerLockInterceptor,
  ) {
    super();
  }

  /** Runs a job now: here if this instance has it, and otherwise by a queued call, which an instance that has it takes. */
  override async runNow(request: RunRequest): Promise<RunNowResult> {
    const desk = await this.open();
    const bound = this.insight.jobs.get(request.job);
    if (bound?.settings.enabled !== true || request.key !== undefined) return super.runNow(request);
    return runHere(request, bound, { interceptor: this.interceptor, desk, settings: this.host.settings });
  }

  /** While the runs of this instance end. @internal */
  onModuleDestroy(): void {
    this.#closing.abort();
  }

  /** Before the store closes. @internal */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#desk?.idle();
  }

  /** @internal */
  protected override async open(): Promise<Desk> {
    await this.host.start();
    const { store, settings } = this.host;
    const { clock, instanceId: instance, storeTimeout } = settings;
    return (this.#desk ??= new Desk(store, {
      clock,
      instance,
      emit: this.events.emit,
      storeTimeout,
      closing: this.#closing.signal,
    }));
  }
}

interface Parts {
  readonly interceptor: SchedulerLockInterceptor;
  readonly desk: Desk;
  readonly settings: ModuleSettings;
}

type End = { readonly ran: true; readonly failure?: unknown } | Skipped;

const handRun = (request: RunRequest) => ({ by: actOf('run', request), through: request.throughPause });

/** Runs a job of this instance for a person, and says what became of the run. */
async function runHere(request: RunRequest, bound: BoundJob, parts: Parts): Promise<RunNowResult> {
  const { interceptor, settings, desk } = parts;
  const args = checkRun(request);
  let begin: (lock: Lock) => void = () => undefined;
  const begun = new Promise<Lock>((resolve) => (begin = resolve));
  const { lock, result } = interceptor.runNow(bound, { ...handRun(request), args, began: begin });
  let own: Lock | undefined;
  const ended = result.then(
    (end): End => (end.ran ? { ran: true } : end),
    (error: unknown): End => {
      // If the run has not begun, this is the error of the call itself.
      if (own === undefined) throw error;
      return { ran: true, failure: error };
    },
  );
  void begun.then((granted) => (own = granted));
  const first = await Promise.race([begun, ended]);
  if ('ran' in first && !first.ran) return refused(lock, first, parts);
  const granted = await begun;
  const start = {
    result: 'started',
    lock,
    fencingToken: granted.fencingToken ?? 0,
    instance: settings.instanceId,
  } as const;
  if (request.wait === undefined) {
    logFailure(ended);
    return start;
  }
  const end = await desk.wait(parseDuration(request.wait) ?? LONGEST_WAIT, ended);
  if (end === undefined) logFailure(ended);
  if (end === undefined || !end.ran) return start;
  // The same as the history says.
  const outcome = outcomeOf({ abortReason: granted.signal.reason }, 'failure' in end);
  if (!('failure' in end)) return { ...start, outcome };
  const { failure } = end;
  return { ...start, outcome, error: failure instanceof Error ? failure.message : String(failure) };
}

/** Nobody waits for the run: only the log can have its error. */
const logFailure = (ended: Promise<End>): void =>
  void ended.then((end) => 'failure' in end && logError(() => end.failure));

async function refused(lock: string, skip: Skipped, { desk }: Parts): Promise<RunNowResult> {
  const { reason, holder, error } = skip;
  // A person reads the error itself.
  if (reason === 'store-unavailable' && error !== undefined) throw error;
  if (reason === 'held' || reason === 'cooling-down')
    return { result: 'held', lock, ...(holder !== undefined && { holder }) };
  const paused = reason === 'paused' ? await desk.pauseOf(lock) : undefined;
  return paused === undefined ? { result: 'skipped', reason } : { result: 'paused', ...paused };
}
