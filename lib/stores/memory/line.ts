import type { AcquireRefusal, AcquireRequest, WaitRequest } from '../lock-store.js';
import { CALLED, STEP_OF_PRIORITY } from '../rules.js';

/** A call in line. Times are monotonic. */
interface Waiting {
  readonly token: string;
  readonly process: string;
  readonly place: number;
  readonly until: number;
}

/** A call with `wait`. */
export type WaitingRequest = AcquireRequest & { readonly wait: WaitRequest };

/** The calls that wait for a lock, in their order: see the rules of `LockStore`. */
export class Line {
  #waiting: Waiting[] = [];
  /** Who is called, until when the lock is reserved for it. */
  #called: { readonly one: Waiting; readonly until: number } | undefined;
  /** Processes that did not come when they were called. */
  readonly #missed = new Set<string>();
  #newest = 0;

  /** @param hint tells a process that its call is called */
  constructor(private readonly hint: (process: string, token: string) => void) {}

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /**
   * A call asks: its process is alive, and the call stands in line from now on.
   *
   * @param time the store's time, microseconds
   */
  enter({ token, wait }: WaitingRequest, now: number, time: number): Required<AcquireRefusal>['waiting'] {
    this.#missed.delete(wait.process);
    const known = this.#waiting.find((one) => one.token === token);
    const place = known?.place ?? wait.place ?? this.#newPlace(time, wait.priority);
    const one = { token, process: wait.process, place, until: now + wait.limit };
    this.#waiting = this.#waiting.filter((other) => other.token !== token);
    const ahead = this.#waiting.filter((other) => other.place <= place).length;
    this.#waiting.splice(ahead, 0, one);
    return { place, ahead };
  }

  /** Takes a call out of line. */
  leave(token: string): void {
    this.#waiting = this.#waiting.filter((one) => one.token !== token);
    if (this.#called?.one.token === token) this.#called = undefined;
  }

  /**
   * Calls the first in line, unless one is called already.
   *
   * @param asks the token of the call that asks now: it needs no hint
   * @returns the token that the lock is reserved for, and for how long, ms; `undefined`: nobody is left
   */
  call(now: number, asks?: string): { readonly token: string; readonly left: number } | undefined {
    if (this.#called !== undefined && this.#called.until <= now) {
      this.#missed.add(this.#called.one.process);
      this.leave(this.#called.one.token);
    }
    if (this.#called === undefined) {
      this.#waiting = this.#waiting.filter(({ until }) => until > now);
      const one = this.#waiting.find(({ process }) => !this.#missed.has(process));
      if (one === undefined) return undefined;
      this.#called = { one, until: now + CALLED };
      if (one.token !== asks) this.hint(one.process, one.token);
    }
    const { one, until } = this.#called;
    return { token: one.token, left: until - now };
  }

  #newPlace(time: number, priority: number): number {
    // Two calls in one microsecond, or after the clock was set back, keep their order.
    this.#newest = Math.max(this.#newest + 1, time);
    return this.#newest - priority * STEP_OF_PRIORITY;
  }
}
