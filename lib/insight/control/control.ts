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
import type * as types from './types.js';

/**
 * What a person can do to the locks of a store. The service, the shell and the page call these methods.
 *
 * All reject with `SchedulerLockConfigError` for bad arguments, and with `StoreUnavailableError` if the store does not answer: then
 * the action may or may not have been done, and `status` or `locks` show it.
 */
export abstract class Switches {
  /** @internal */
  protected abstract open(): Desk | Promise<Desk>;

  /**
   * Pauses a lock at once: until it is resumed, or its time is over, no instance starts a job under the lock. A run that goes on goes on, and
   * the answer names it.
   */
  pause(request: types.PauseRequest): Promise<types.PauseResult> {
    return this.#use(pause, request);
  }

  /** Ends a pause. Of what was skipped meanwhile, only ticks within `catchUp` and queued calls still run. */
  resume(request: types.ResumeRequest): Promise<types.ResumeResult> {
    return this.#use(resume, request);
  }

  /**
   * Ends the lease that has this fencing token, and no other one. Its run counts as aborted. Its job may still run: its signal aborts at its
   * next heartbeat, and another instance may start the job before that.
   */
  break(request: types.BreakRequest): Promise<types.BreakResult> {
    return this.#use(breakLease, request);
  }

  /** Runs a job now: by a queued call, for an instance that has the job; in an application that has the job, directly. */
  runNow(request: types.RunRequest): Promise<types.RunNowResult> {
    return this.#use(runNow, request);
  }

  /** Puts dead letters of a lock back: all, or one. */
  redeliver(request: types.RedeliverRequest): Promise<types.RedeliverResult> {
    return this.#use(redeliver, request);
  }

  /**
   * Forgets a job that is gone for good: it is in no status, and on no page, until an instance guards it again. Its history stays under its lock
   * as long as any.
   */
  forget(request: types.ForgetRequest): Promise<types.ForgetResult> {
    return this.#use(forget, request);
  }

  async #use<Q, R>(act: (desk: Desk, request: Q) => Promise<R>, request: Q): Promise<R> {
    const desk = await this.open();
    return desk.during(act(desk, request));
  }
}

/** The six switches: the service, the shell and the page call these. */
export type ControlSwitches = Pick<Switches, keyof Switches>;

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
