/*
 * lib/control: the switches of a person: pause, resume, break, run now, redeliver. They are put together from what every store has: leases,
 * lines, queued calls, histories.
 * May not enter: a store's own statements, Nest, how a switch is shown.
 */
import type { PauseInfo } from '../insight/types.js';
import type { LockStore } from '../stores/lock-store.js';
import { breakLease } from './break.js';
import { type ControlOptions, Desk } from './desk.js';
import { pause } from './pause.js';
import { redeliver } from './redeliver.js';
import { resume } from './resume.js';
import { runNow } from './run-now.js';
import type {
  BreakRequest,
  BreakResult,
  ControlSwitches,
  PauseRequest,
  PauseResult,
  RedeliverRequest,
  RedeliverResult,
  ResumeRequest,
  ResumeResult,
  RunNowResult,
  RunRequest,
} from './types.js';

/**
 * What a person can do to the locks of a store. The service, the shell and the page call these methods.
 *
 * All reject with `SchedulerLockConfigError` for bad arguments, and with `StoreUnavailableError` if the store does not answer: then
 * the action may or may not have been done, and `status` or `locks` show it.
 */
export class Control implements ControlSwitches {
  readonly #desk: Desk;

  /** @throws SchedulerLockConfigError if the store has no `inspect()`, or no history */
  constructor(store: LockStore, options: ControlOptions) {
    this.#desk = new Desk(store, options);
  }

  pause(request: PauseRequest): Promise<PauseResult> {
    return this.#desk.closing.during(pause(this.#desk, request));
  }

  resume(request: ResumeRequest): Promise<ResumeResult> {
    return resume(this.#desk, request);
  }

  break(request: BreakRequest): Promise<BreakResult> {
    return breakLease(this.#desk, request);
  }

  /** The pause of a lock that is in force, and the store's time. @internal */
  pauseOf(lock: string): Promise<{ pause: PauseInfo; time: number } | undefined> {
    return this.#desk.pauseOf(lock);
  }

  runNow(request: RunRequest): Promise<RunNowResult> {
    return this.#desk.closing.during(runNow(this.#desk, request));
  }

  redeliver(request: RedeliverRequest): Promise<RedeliverResult> {
    return redeliver(this.#desk, request);
  }
}
