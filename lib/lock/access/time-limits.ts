import { AlarmClock, type Clock, type Timer } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';

/** A timer that fires this late was held up by a busy event loop, milliseconds. */
const LATE = 5;
/** How far ahead the timer is that keeps the process alive, milliseconds: it never fires before it is cancelled. */
const FOR_LONG = 2_000_000_000;

export interface Limited {
  readonly limit: number;
  readonly sentAt: number;
  index: number;
  giveUp(error: Error): void;
}

/** Limits how long calls to the store may take. One timer serves all of them: one for each call would cost more than the call. */
export class TimeLimits {
  /** Called for each call of the store that is given up, with its limit. */
  onSilence: ((limit: number) => void) | undefined;
  /** In no order. Not a set: one that shrinks and grows with each run makes garbage. */
  readonly #calls: Limited[] = [];
  readonly #alarm: AlarmClock;
  /** Whether the answers that came while the event loop was blocked have been given a chance. */
  #late = false;
  #alive: Timer | undefined;

  /** @param advice what to do if the store does not answer, if the store knows */
  constructor(
    private readonly clock: Clock,
    private readonly advice: () => string | undefined = () => undefined,
  ) {
    this.#alarm = new AlarmClock(clock, () => this.#check());
  }

  /** Settles as `call` does, or rejects with a {@link StoreUnavailableError} (outcome unknown) after `limit` milliseconds. */
  within<T>(call: Promise<T>, limit: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const limited = { limit, sentAt: this.clock.monotonic(), giveUp: reject, index: 0 };
      this.add(limited);
      void call.then(resolve, reject).finally(() => this.delete(limited));
    });
  }

  /**
   * Gives a call up when it is due, unless it is deleted before. If the event loop was blocked past the limit, answers that have come
   * meanwhile still count: a busy process is no outage of the store.
   */
  add(call: Limited): void {
    call.index = this.#calls.push(call) - 1;
    this.#alarm.by(call.sentAt + call.limit);
  }

  /** The timer stays as it is: on a busy process the next call needs it anyway, on an idle one it fires once. */
  delete(call: Limited): void {
    if (this.#calls[call.index] !== call) return;
    const last = this.#calls.pop() as Limited;
    if (last === call) return;
    this.#calls[call.index] = last;
    last.index = call.index;
  }

  /** The process stays alive until {@link stop}: a shutdown waits for calls, and other modules shut down after it. */
  keepAlive(): void {
    this.#alive ??= this.clock.setTimer(() => undefined, FOR_LONG, { keepAlive: true });
  }

  /** Cancels the timers: no call is given up any more. */
  stop(): void {
    this.#alive?.cancel();
    this.#alive = undefined;
    this.#calls.length = 0;
    this.#alarm.set(Infinity);
  }

  #check(): void {
    const now = this.clock.monotonic();
    const calls = [...this.#calls];
    if (!this.#late && calls.some(({ sentAt, limit }) => now - (sentAt + limit) >= LATE)) {
      this.#late = true;
      return this.#alarm.by(now + 1);
    }
    this.#late = false;
    const due = calls.filter(({ sentAt, limit }) => sentAt + limit <= now);
    for (const call of due) this.delete(call);
    this.#alarm.by(
      this.#calls.reduce((least, { sentAt, limit }) => Math.min(least, sentAt + limit), Infinity),
    );
    for (const call of due) call.giveUp(timedOut(call.limit, this.advice()));
  }
}

const timedOut = (limit: number, advice: string | undefined): Error =>
  new StoreUnavailableError(
    `The store did not answer within ${Math.round(limit)} ms.${advice === undefined ? '' : ` ${advice}`}`,
    { outcome: 'unknown' },
  );
