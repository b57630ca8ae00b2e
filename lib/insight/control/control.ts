/*
 * lib/insight/control: the switches of a person: pause, resume, break, run now, redeliver, forget. They are put together from what every store has: pauses,
 * leases, queued calls, histories.
 * May not enter: a store's own statements, Nest, how a switch is shown.
 */
import type { LockStore } from '../../contract/lock-store.js';
import { breakLease } from './break.js';
import { type ControlOptions, Desk } from './desk.js';
import { forget } from './forget.js';
import { pause, resume } from './pause.js';
import { redeliver } from './redeliver.js';
import { runNow } from './run-now.js';
import type {
  BreakRequest,
  BreakResult,
  ControlSwitches,
  ForgetRequest,
  ForgetResult,
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
export abstract class Switches implements ControlSwitches {
  /** @internal */
  protected abstract open(): Desk | Promise<Desk>;

  async pause(request: PauseRequest): Promise<PauseResult> {
    const desk = await this.open();
    return desk.during(pause(desk, request));
  }

  async resume(request: ResumeRequest): Promise<ResumeResult> {
    return resume(await this.open(), request);
  }

  async break(request: BreakRequest): Promise<BreakResult> {
    return breakLease(await this.open(), request);
  }

  async runNow(request: RunRequest): Promise<RunNowResult> {
    const desk = await this.open();
    return desk.during(runNow(desk, request));
  }

  async redeliver(request: RedeliverRequest): Promise<RedeliverResult> {
    return redeliver(await this.open(), request);
  }

  async forget(request: ForgetRequest): Promise<ForgetResult> {
    return forget(await this.open(), request);
  }
}

/** The {@link Switches} of a store, for a program without Nest. */
export class Control extends Switches {
  readonly #desk: Desk;

  /** @throws SchedulerLockConfigError if the store has no `inspect()`, or no history */
  constructor(store: LockStore, options: ControlOptions) {
    super();
    this.#desk = new Desk(store, options);
  }

  /** @internal */
  protected override open(): Desk {
    return this.#desk;
  }
}
