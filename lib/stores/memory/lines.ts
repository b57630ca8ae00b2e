import type { Clock } from '../../clock.js';
import type { AcquireRefusal, HintChannel, LeaseRef } from '../lock-store.js';
import { Line, placeAt, placed, type Standing, type WaitingRequest } from '../line.js';

/** The calls that wait, in the memory of this process: rules 10 to 14 of `LockStore`. */
export class MemoryLines {
  readonly #lines = new Map<string, Line>();
  /** The listeners for hints, by process. */
  readonly #listeners = new Map<string, (token: string) => void>();
  /** The newest place, without its priority. */
  #newest = 0;

  constructor(
    private readonly locks: { isFree(name: string): boolean },
    private readonly clock: Clock,
  ) {}

  hints(process: string, called: (token: string) => void): HintChannel {
    this.#listeners.set(process, called);
    return { open: true, close: () => void this.#listeners.delete(process) };
  }

  /** Sends a hint to every process. */
  announce(text: string): void {
    for (const process of this.#listeners.keys()) this.#hint(process, text);
  }

  /** The place of the first call in line. */
  firstPlace(name: string): number | undefined {
    return this.#lines.get(name)?.standing[0]?.place;
  }

  /** The calls in line, in their order. */
  standing(name: string): readonly Standing[] {
    const now = this.clock.monotonic();
    return this.#lines.get(name)?.standing.filter(({ until }) => until > now) ?? [];
  }

  /** Two calls in one microsecond, or after the clock was set back, keep their order. */
  newPlace(): number {
    this.#newest = Math.max(this.#newest + 1, Math.trunc(this.clock.now() * 1_000));
    return this.#newest;
  }

  /** The refusal of a call that stands in line from now on. */
  enter(request: WaitingRequest, refusal: AcquireRefusal): AcquireRefusal {
    const { name, token, wait } = request;
    const line = this.#lines.get(name) ?? new Line();
    this.#lines.set(name, line);
    const place = line.find(token)?.place ?? wait.place ?? placeAt(this.newPlace(), wait.priority);
    line.enter({ token, process: wait.process, place, until: this.clock.monotonic() + wait.limit });
    return placed(refusal, line.find(token));
  }

  /**
   * Why a free lock is not for this call: another one is before it in line. Then it calls that one.
   *
   * @param waits the call, if it may stand in line
   */
  passedOver(
    { name, token }: Pick<LeaseRef, 'name' | 'token'>,
    waits?: WaitingRequest,
  ): AcquireRefusal | undefined {
    const line = this.#lines.get(name);
    if (line === undefined) return undefined;
    if (waits !== undefined) this.enter(waits, held(0));
    const left = this.call(name, token);
    return left === undefined ? undefined : placed(held(Math.ceil(left)), line.find(token));
  }

  /** Takes a call out of line. Returns whether it was called: then the next one has to be called. */
  leave({ name, token }: Pick<LeaseRef, 'name' | 'token'>): boolean {
    const line = this.#lines.get(name);
    const wasCalled = line?.called?.token === token;
    line?.leave(token);
    if (line?.standing.length === 0) this.#lines.delete(name);
    return wasCalled;
  }

  /**
   * Calls the first in line if the lock is free.
   *
   * @param asks the token of the call that asks now
   * @returns for how long the lock is kept for another one, ms; `undefined` if it is not
   */
  call(name: string, asks?: string): number | undefined {
    const line = this.#lines.get(name);
    if (line === undefined || !this.locks.isFree(name)) return undefined;
    const now = this.clock.monotonic();
    const before = line.called?.token;
    const called = line.call(now, asks === undefined ? {} : { asks });
    if (line.standing.length === 0) this.#lines.delete(name);
    if (called === undefined || called.token === asks) return undefined;
    if (called.token !== before) this.#hint(called.process, called.token);
    return called.until - now;
  }

  /** Sends the hint in a later turn: the caller is not done yet. */
  #hint(process: string, token: string): void {
    void Promise.resolve().then(() => this.#listeners.get(process)?.(token));
  }
}

export const held = (expiresIn: number): AcquireRefusal => ({ acquired: false, reason: 'held', expiresIn });
