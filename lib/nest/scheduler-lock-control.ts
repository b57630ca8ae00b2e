import { Injectable } from '@nestjs/common';
import { Closing } from '../insight/control/closing.js';
import { Switches } from '../insight/control/control.js';
import { Desk } from '../insight/control/desk.js';
import type { RunNowResult, RunRequest } from '../insight/control/types.js';
import { SchedulerLockEvents } from './log/scheduler-lock.events.js';
import { InsightHost } from './insight-host.js';
import { LockHost } from './lock-host.js';
import { runHere } from './run-here.js';
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
  readonly #host: LockHost;
  readonly #events: SchedulerLockEvents;
  readonly #insight: InsightHost;
  readonly #interceptor: SchedulerLockInterceptor;
  readonly #closing: Closing;
  #desk: Desk | undefined;

  /** @internal */
  constructor(
    host: LockHost,
    events: SchedulerLockEvents,
    insight: InsightHost,
    interceptor: SchedulerLockInterceptor,
  ) {
    super();
    this.#host = host;
    this.#closing = new Closing(host.settings.clock);
    this.#events = events;
    this.#insight = insight;
    this.#interceptor = interceptor;
  }

  /** Runs a job now: here if this instance has it, and otherwise by a queued call, which an instance that has it takes. */
  override async runNow(request: RunRequest): Promise<RunNowResult> {
    const desk = await this.open();
    const bound = this.#insight.job(request.job);
    if (bound?.settings.enabled !== true || request.throughPause === true || request.key !== undefined)
      return super.runNow(request);
    return runHere(request, bound, { interceptor: this.#interceptor, desk, settings: this.#host.settings });
  }

  /** While the runs of this instance end. @internal */
  async onModuleDestroy(): Promise<void> {
    await this.#closing.begin(this.#host.settings.shutdownTimeout);
  }

  /** Before the store closes. @internal */
  async beforeApplicationShutdown(): Promise<void> {
    await this.#closing.end();
  }

  /** @internal */
  protected override async open(): Promise<Desk> {
    await this.#host.start();
    const { store, settings } = this.#host;
    const { clock, instanceId: instance, storeTimeout, insight } = settings;
    return (this.#desk ??= new Desk(store, {
      clock,
      instance,
      emit: this.#events.emit,
      storeTimeout,
      closing: this.#closing,
      ...(insight && { kept: { count: insight.keep, age: insight.age } }),
    }));
  }
}
